"""A deleted dataset's documents, as far as one request gets; reconcile does what is left."""

import time

from sqlalchemy import Engine

from functions.manage.announce import announce
from shared.ports import ChangeQueue
from shared.postgres.engine import read, transaction
from shared.postgres.removals import count_left, delete_documents, forget_dataset

_PAUSE_SECONDS = 0.05


def clear(engine: Engine, queue: ChangeQueue, dataset_id: str, end: float, *, wait: bool) -> int:
    """Deletes the documents of a deleted dataset, and what is known of it once they are gone.

    Args:
        engine: the database.
        queue: hears of each document whose chunks are to be taken away.
        dataset_id: a deleted dataset's.
        end: on the monotonic clock: no batch begins later, but for the first.
        wait: whether to wait until then for the chunks to be gone.

    Returns:
        How many documents are not gone yet.
    """
    while True:
        with transaction(engine) as connection:
            changes = delete_documents(connection, dataset_id)
        announce(queue, changes)
        if not changes or time.monotonic() > end:
            break
    while True:
        with read(engine) as connection:
            left = count_left(connection, dataset_id)
        with transaction(engine) as connection:
            has_more = forget_dataset(connection, dataset_id)
        is_over = time.monotonic() + _PAUSE_SECONDS > end
        if is_over or not (has_more or (wait and left)):
            return left
        if not has_more:
            time.sleep(_PAUSE_SECONDS)
