"""Deleted datasets: what a request left of them is cleared away, batch by batch."""

from collections.abc import Callable

from functions.reconcile.parts import Parts
from shared.postgres.engine import read, transaction
from shared.postgres.removals import delete_documents, forget_dataset, list_deleted


def clear(parts: Parts, has_time: Callable[[], bool]) -> None:
    """Deletes the documents of deleted datasets, and forgets what ingest has taken away of them."""
    with read(parts.engine) as connection:
        deleted = list_deleted(connection)
    for dataset_id in deleted:
        while has_time():
            with transaction(parts.engine) as connection:
                changes = delete_documents(connection, dataset_id)
                has_more = forget_dataset(connection, dataset_id)
            parts.queue.send(changes)
            if not (changes or has_more):
                break
