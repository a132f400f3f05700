"""Deleting a whole dataset: it is gone at once, and cleared away a bounded batch at a time.

First the dataset is marked, and from then on nobody sees it; then its documents become tombstones
with work in the outbox, as if each had been deleted; once all of that is done, its rows go. Whoever
dies on the way leaves the mark, and reconcile finishes it.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, literal, not_, null, select, update
from sqlalchemy.dialects.postgresql import insert

from shared.errors import NotFound
from shared.model import Action, Change
from shared.postgres.ids import as_id
from shared.postgres.tables import (
    datasets,
    documents,
    index_versions,
    is_kept,
    is_kept_in_part,
    outbox,
)

BATCH = 500
"""The most documents that one transaction deletes, or forgets."""


def mark_deleted(connection: Connection, tenant_id: str, dataset_id: str) -> tuple[str, datetime]:
    """Makes a dataset one that there is not; returns its id, and since when it is so.

    Of one that is being deleted nothing changes. Raises `NotFound`.
    """
    row = connection.execute(
        update(datasets)
        .where(datasets.c.tenant_id == tenant_id, datasets.c.id == as_id(dataset_id))
        # What an external base is asked with is nobody's business any more.
        .values(deleted_at=func.coalesce(datasets.c.deleted_at, func.now()), external=null())
        .returning(datasets.c.id, datasets.c.deleted_at)
    ).one_or_none()
    if row is None:
        raise NotFound(f"there is no dataset {dataset_id!r}")
    return row.id, row.deleted_at


def delete_documents(connection: Connection, dataset_id: str) -> list[Change]:
    """Makes tombstones of the next documents of a deleted dataset, and puts what is to do.

    Neither the dataset's counts nor its fields are kept in step: nobody asks for them any more.

    Returns:
        The changes to send; none where every document is a tombstone.
    """
    batch = (
        select(documents.c.id)
        .where(documents.c.dataset_id == dataset_id, documents.c.deleted_at.is_(None))
        .order_by(documents.c.id)
        .limit(BATCH)
        .with_for_update()
    )
    ended = (
        update(documents)
        .where(documents.c.id.in_(batch))
        .values(
            deleted_at=func.now(),
            version=documents.c.version + 1,
            index_version=index_versions.next_value(),
        )
        .returning(
            documents.c.id, documents.c.tenant_id, documents.c.dataset_id, documents.c.version
        )
        .cte("ended")
    )
    work: dict[str, Any] = {
        "document_id": ended.c.id,
        "tenant_id": ended.c.tenant_id,
        "dataset_id": ended.c.dataset_id,
        "version": ended.c.version,
        "action": literal(Action.DELETE.value),
    }
    new = insert(outbox).from_select(list(work), select(*work.values()))
    put = new.on_conflict_do_update(
        index_elements=[outbox.c.document_id],
        set_={
            "version": new.excluded.version,
            "action": new.excluded.action,
            "attempts": 0,
            "available_at": func.now(),
            "last_error": None,
            "token": None,
        },
    ).returning(outbox.c.tenant_id, outbox.c.dataset_id, outbox.c.document_id, outbox.c.version)
    return [
        Change(row.tenant_id, row.dataset_id, row.document_id, row.version, Action.DELETE)
        for row in connection.execute(put)
    ]


def count_left(connection: Connection, dataset_id: str) -> int:
    """Returns how many documents of a deleted dataset are still to be cleared away."""
    return connection.scalars(
        select(func.count())
        .select_from(documents)
        .where(documents.c.dataset_id == dataset_id, not_(_is_cleared))
    ).one()


def forget_dataset(connection: Connection, dataset_id: str) -> bool:
    """Forgets the next tombstones that are cleared away, and at last the deleted dataset.

    Returns whether there is more to forget now.
    """
    batch = (
        select(documents.c.id).where(documents.c.dataset_id == dataset_id, _is_cleared).limit(BATCH)
    )
    gone = connection.execute(delete(documents).where(documents.c.id.in_(batch))).rowcount
    # Waits for writers that saw the dataset before it was marked; what they wrote then counts.
    connection.execute(
        select(datasets.c.id).where(datasets.c.id == dataset_id, not_(is_kept)).with_for_update()
    )
    connection.execute(
        delete(datasets).where(
            datasets.c.id == dataset_id,
            not_(is_kept),
            not_(exists().where(documents.c.dataset_id == datasets.c.id)),
        )
    )
    return gone == BATCH


def list_deleted(connection: Connection) -> list[str]:
    """Returns the ids of datasets whose deletion is still to be carried out."""
    return list(
        connection.scalars(select(datasets.c.id).where(not_(is_kept)).order_by(datasets.c.id))
    )


_is_cleared = and_(
    documents.c.deleted_at.is_not(None),
    not_(is_kept_in_part),
    not_(exists().where(outbox.c.document_id == documents.c.id)),
)
