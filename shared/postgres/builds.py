"""Which indices are being built beside the live ones, so that writers write to both.

The record of a build begins and ends under a lock that every writer shares while it makes what it
wrote the truth. So when a build has begun, whatever a writer made true without it can be read, and
whatever comes later is written to both.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.dialects.postgresql import insert

from shared.errors import Conflict
from shared.model import EmbeddingSpace
from shared.postgres.engine import read
from shared.postgres.tables import index_builds

_WRITERS = 8_461_728
_BUILDERS = 8_461_729
"""Keys of advisory locks; no others are taken here but that of migrations."""


class Build(NamedTuple):
    """Whether a space's index is being built anew.

    Attributes:
        token: another after each beginning and end; None where there was none yet.
    """

    token: str | None
    is_under_way: bool


def read_build(connection: Connection, space: EmbeddingSpace) -> Build:
    """Returns a space's build."""
    row = connection.execute(
        select(index_builds.c.token, index_builds.c.is_under_way).where(
            index_builds.c.embedding_provider == space.provider,
            index_builds.c.embedding_model == space.model,
            index_builds.c.embedding_dimension == space.dimension,
        )
    ).one_or_none()
    return Build(None, False) if row is None else Build(*row)


def hold_build(connection: Connection, space: EmbeddingSpace) -> Build:
    """Returns the same, and keeps builds from beginning or ending until the transaction is over."""
    connection.execute(text(f"SELECT pg_advisory_xact_lock_shared({_WRITERS})"))
    return read_build(connection, space)


def begin_build(connection: Connection, space: EmbeddingSpace) -> None:
    """Has every writer of a space write to the index that is being built as well."""
    _set_build(connection, space, is_under_way=True)


def end_build(connection: Connection, space: EmbeddingSpace) -> None:
    """Has writers write to the live index alone again."""
    _set_build(connection, space, is_under_way=False)


def _set_build(connection: Connection, space: EmbeddingSpace, *, is_under_way: bool) -> None:
    connection.execute(text(f"SELECT pg_advisory_xact_lock({_WRITERS})"))
    values: dict[str, Any] = {"token": func.gen_random_uuid(), "is_under_way": is_under_way}
    connection.execute(
        insert(index_builds)
        .values(
            embedding_provider=space.provider,
            embedding_model=space.model,
            embedding_dimension=space.dimension,
            **values,
        )
        .on_conflict_do_update(constraint=index_builds.primary_key, set_=values)
    )


@contextmanager
def only_builder(engine: Engine) -> Iterator[None]:
    """Keeps every other builder out until the block ends, or the process does.

    Raises:
        Conflict: another is at work.
    """
    with read(engine) as connection:
        if not connection.scalar(text(f"SELECT pg_try_advisory_lock({_BUILDERS})")):
            raise Conflict("another reindex is at work")
        try:
            yield
        finally:
            connection.invalidate()  # with the connection goes the lock
