"""The outbox: one row for each document that has work to do. The row is the work.

A row goes in with the change it belongs to, in one transaction, and goes last, once both stores
agree. Messages only say which. Rows are found by whether they are available, never by comparing
with an id or a time remembered from before.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from shared.model import Action, Change
from shared.postgres.tables import outbox


def put(connection: Connection, change: Change) -> None:
    """Makes a change the document's work, in place of what it had to do before."""
    values = {
        "tenant_id": change.tenant_id,
        "dataset_id": change.dataset_id,
        "version": change.version,
        "action": change.action,
        "attempts": 0,
        "available_at": func.now(),
        "last_error": None,
    }
    connection.execute(
        insert(outbox)
        .values(document_id=change.document_id, **values)
        .on_conflict_do_update(index_elements=[outbox.c.document_id], set_=values)
    )


def take(
    connection: Connection, tenant_id: str, document_id: str, lease: timedelta
) -> tuple[Change, int] | None:
    """Returns a document's work and how often it was taken, and keeps others off it for a while.

    None where there is no work, or somebody else is at it.
    """
    row = connection.execute(
        update(outbox)
        .where(
            outbox.c.document_id == document_id,
            outbox.c.tenant_id == tenant_id,
            outbox.c.available_at <= func.now(),
        )
        .values(attempts=outbox.c.attempts + 1, available_at=func.now() + lease)
        .returning(outbox)
    ).one_or_none()
    if row is None:
        return None
    return _change(row), row.attempts


def advance(connection: Connection, change: Change, action: Action) -> None:
    """Sets the next step of the same work; work that was replaced in the meantime stays."""
    connection.execute(
        update(outbox)
        .where(outbox.c.document_id == change.document_id, outbox.c.version == change.version)
        .values(action=action)
    )


def release(connection: Connection, change: Change, error: str, delay: timedelta) -> None:
    """Puts work back after an outage, as if it had not been taken, available after a delay."""
    connection.execute(
        update(outbox)
        .where(outbox.c.document_id == change.document_id, outbox.c.version == change.version)
        .values(attempts=0, last_error=error, available_at=func.now() + delay)
    )


def finish(connection: Connection, change: Change) -> None:
    """Removes the row of finished work; work that was replaced in the meantime stays."""
    connection.execute(
        delete(outbox).where(
            outbox.c.document_id == change.document_id, outbox.c.version == change.version
        )
    )


def find(connection: Connection, document_id: str) -> Change | None:
    """Returns the work that a document still has to do."""
    row = connection.execute(
        select(outbox).where(outbox.c.document_id == document_id)
    ).one_or_none()
    return None if row is None else _change(row)


def find_available(connection: Connection, most: int) -> list[Change]:
    """Returns work that nobody is at, the longest waiting first."""
    rows = connection.execute(
        select(outbox)
        .where(outbox.c.available_at <= func.now())
        .order_by(outbox.c.available_at, outbox.c.document_id)
        .limit(most)
    )
    return [_change(row) for row in rows]


def release_all(connection: Connection) -> None:
    """Makes all work available at once: for the only worker, at its start."""
    connection.execute(
        update(outbox).where(outbox.c.available_at > func.now()).values(available_at=func.now())
    )


def _change(row: Row[Any]) -> Change:
    return Change(row.tenant_id, row.dataset_id, row.document_id, row.version, Action(row.action))
