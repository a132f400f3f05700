"""Documents that are to be cut anew, from the bytes that were sent: the work of ingest, put."""

from sqlalchemy import Engine

from shared.ports import ChangeQueue
from shared.postgres.engine import transaction
from shared.postgres.recuts import put_recuts

_PAGE = 500


def cut_anew(engine: Engine, queue: ChangeQueue, dataset_id: str) -> int:
    """Has every document of a dataset that queries find cut anew, and returns how many.

    Those stay as they are whose sender cut them, and those with other work to do: that cuts them
    anew as well. While one is cut, queries find it as it was.
    """
    after, count = None, 0
    while True:
        with transaction(engine) as connection:
            changes = put_recuts(connection, dataset_id, after, _PAGE)
        if not changes:
            return count
        queue.send(changes)
        after, count = changes[-1].document_id, count + len(changes)
