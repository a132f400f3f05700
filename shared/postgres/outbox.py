"""The outbox: one row for each document that has work to do. The row is the work.

A row goes in with the change it belongs to, in one transaction, and goes last, once both stores
agree. Messages only say which. Rows are found by whether they are available, never by comparing
with an id or a time remembered from before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, select, update
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
        "token": None,
    }
    connection.execute(
        insert(outbox)
        .values(document_id=change.document_id, **values)
        .on_conflict_do_update(index_elements=[outbox.c.document_id], set_=values)
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """Work that one worker has taken.

    Attributes:
        attempts: how often it was taken, this time included, since it was put or last released.
        token: drawn for this taking; whoever put or took the row since has another.
    """

    change: Change
    attempts: int
    token: str


def take(
    connection: Connection, tenant_id: str, document_id: str, lease: timedelta
) -> Taken | None:
    """Takes a document's work, and keeps others off it for a while.

    None where there is no work, or somebody else is at it.
    """
    row = connection.execute(
        update(outbox)
        .where(
            outbox.c.document_id == document_id,
            outbox.c.tenant_id == tenant_id,
            outbox.c.available_at <= func.now(),
        )
        .values(
            attempts=outbox.c.attempts + 1,
            available_at=func.now() + lease,
            token=func.gen_random_uuid(),
        )
        .returning(outbox)
    ).one_or_none()
    return None if row is None else Taken(_change(row), row.attempts, row.token)


def advance(connection: Connection, taken: Taken, action: Action) -> None:
    """Sets the next step of the work; what was put or taken by others since stays."""
    connection.execute(update(outbox).where(_is_held(taken)).values(action=action))


def release(connection: Connection, taken: Taken, error: str, delay: timedelta) -> None:
    """Puts work back after an outage, as if it had not been taken, available after a delay."""
    connection.execute(
        update(outbox)
        .where(_is_held(taken))
        .values(attempts=0, last_error=error, available_at=func.now() + delay, token=None)
    )


def drop(connection: Connection, document_ids: Sequence[str], delay: timedelta) -> None:
    """Makes work available after a delay whose workers are gone, and could not release it."""
    if document_ids:
        soon = func.least(outbox.c.available_at, func.now() + delay)
        connection.execute(
            update(outbox)
            .where(outbox.c.document_id.in_(document_ids), outbox.c.token.is_not(None))
            .values(available_at=soon)
        )


def finish(connection: Connection, taken: Taken) -> None:
    """Removes the row of finished work; what was put or taken by others since stays."""
    connection.execute(delete(outbox).where(_is_held(taken)))


def find(connection: Connection, document_id: str) -> Change | None:
    """Returns the work that a document still has to do."""
    row = connection.execute(
        select(outbox).where(outbox.c.document_id == document_id)
    ).one_or_none()
    return None if row is None else _change(row)


def find_available(connection: Connection, most: int) -> list[Change]:
    """Returns work that nobody is at, the longest waiting first."""
    return _find_since(connection, func.now(), most)


def find_overdue(connection: Connection, grace: timedelta, most: int) -> list[Change]:
    """Returns work that nobody has been at for so long that its message must be lost."""
    return _find_since(connection, func.now() - grace, most)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The work of one dataset: how many documents have some, and the oldest's age in seconds."""

    documents: int
    oldest_seconds: float


def measure_backlogs(connection: Connection) -> dict[str, Backlog]:
    """Returns the backlog of each dataset that has one."""
    age = func.extract("epoch", func.now() - func.min(outbox.c.created_at))
    rows = connection.execute(
        select(outbox.c.dataset_id, func.count(), age).group_by(outbox.c.dataset_id)
    )
    return {dataset_id: Backlog(count, float(seconds)) for dataset_id, count, seconds in rows}


def measure_oldest(connection: Connection) -> float:
    """Returns how many seconds the work that has waited the longest has; 0 where there is none."""
    age = func.extract("epoch", func.now() - func.min(outbox.c.created_at))
    return float(connection.scalar(select(age)) or 0)


def release_all(connection: Connection) -> None:
    """Makes all work available at once: for the only worker, at its start."""
    connection.execute(
        update(outbox).where(outbox.c.available_at > func.now()).values(available_at=func.now())
    )


def _find_since(connection: Connection, since: ColumnElement[Any], most: int) -> list[Change]:
    rows = connection.execute(
        select(outbox)
        .where(outbox.c.available_at <= since)
        .order_by(outbox.c.available_at, outbox.c.document_id)
        .limit(most)
    )
    return [_change(row) for row in rows]


def _change(row: Row[Any]) -> Change:
    return Change(row.tenant_id, row.dataset_id, row.document_id, row.version, Action(row.action))


def _is_held(taken: Taken) -> ColumnElement[bool]:
    return and_(outbox.c.document_id == taken.change.document_id, outbox.c.token == taken.token)
