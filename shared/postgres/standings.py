"""What the search index should hold, chunk by chunk: PostgreSQL's side of the comparison."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, and_, exists, not_, or_, select, update

from shared.model import EmbeddingSpace, Vector
from shared.postgres.ids import is_after, is_among, join_ids
from shared.postgres.tables import chunks, datasets, documents, memberships, outbox
from shared.postgres.versions import draw_version


class Standing(NamedTuple):
    """Where one chunk stands.

    Attributes:
        version: the external version that the index should hold it under; None where no writer has
            brought it in, or somebody takes it away.
        is_live: queries find it, so that the index must hold it.
        is_busy: its document has work waiting, whose worker brings in and takes away what changes.
    """

    chunk_id: str
    document_id: str
    dataset_id: str
    document_seq: int
    version: int | None
    is_live: bool
    is_busy: bool


def list_standings(
    connection: Connection, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
) -> list[Standing]:
    """Returns a space's chunks by id: the first `limit` after one, up to another, included."""
    statement = (
        _STANDINGS.join(datasets, datasets.c.id == documents.c.dataset_id)
        .where(
            datasets.c.embedding_provider == space.provider,
            datasets.c.embedding_model == space.model,
            datasets.c.embedding_dimension == space.dimension,
        )
        .order_by(chunks.c.id)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(is_after(chunks.c.id, after))
    if until is not None:
        statement = statement.where(not_(is_after(chunks.c.id, until)))
    return _read(connection, statement)


def read_standings(connection: Connection, chunk_ids: Sequence[str]) -> dict[str, Standing]:
    """Returns where chunks stand now, by their ids; those that have no row are left out."""
    return {
        each.chunk_id: each
        for each in _read(
            connection,
            _STANDINGS.where(is_among(chunks.c.id, "ids")),
            {"ids": join_ids(chunk_ids)},
        )
    }


def lock_standings(
    connection: Connection, chunk_ids: Sequence[str], document_ids: Collection[str]
) -> dict[str, Standing]:
    """Locks documents, and returns where those of the chunks stand now that are theirs.

    A document that somebody else has locked is left out: nobody waits for another, so that many
    can be locked at once.
    """
    locked = set(
        connection.scalars(
            select(documents.c.id)
            .where(is_among(documents.c.id, "ids"))
            .with_for_update(skip_locked=True),
            {"ids": join_ids(document_ids)},
        )
    )
    now = read_standings(connection, chunk_ids)
    return {id_: each for id_, each in now.items() if each.document_id in locked}


class Content(NamedTuple):
    """All of a chunk that its place in the search index is made of."""

    chunk_id: str
    tenant_id: str
    dataset_id: str
    document_seq: int
    heading: str
    text: str
    index_version: int
    vector: Vector | None


def read_contents(connection: Connection, chunk_ids: Sequence[str]) -> list[Content]:
    """Returns the content of chunks; those that have no row, or no version, are left out."""
    rows = connection.execute(_CONTENTS, {"ids": join_ids(chunk_ids)})
    return [
        Content(*row[:-1], None if row.vector is None else np.frombuffer(row.vector, dtype="<f4"))
        for row in rows
    ]


def renew_versions(connection: Connection, chunk_ids: Sequence[str]) -> None:
    """Gives chunks, whose documents are locked, one new version."""
    _set_version(connection, chunk_ids, draw_version(connection))


def forget_versions(connection: Connection, chunk_ids: Sequence[str]) -> None:
    """Notes of chunks, whose documents are locked, that the index does not hold them."""
    _set_version(connection, chunk_ids, None)


def _set_version(connection: Connection, chunk_ids: Sequence[str], version: int | None) -> None:
    connection.execute(
        update(chunks).where(is_among(chunks.c.id, "ids")).values(index_version=version),
        {"ids": join_ids(chunk_ids)},
    )


def list_spaces(connection: Connection) -> list[EmbeddingSpace]:
    """Returns the embedding spaces of all datasets that keep chunks here, in a fixed order."""
    space = (
        datasets.c.embedding_provider,
        datasets.c.embedding_model,
        datasets.c.embedding_dimension,
    )
    rows = connection.execute(
        select(*space).where(datasets.c.provider == "internal").distinct().order_by(*space)
    )
    return [EmbeddingSpace(*row) for row in rows]


def _read(
    connection: Connection, statement: Select[Any], parameters: dict[str, Any] | None = None
) -> list[Standing]:
    return [Standing(*row) for row in connection.execute(statement, parameters)]


_is_live = and_(
    documents.c.deleted_at.is_(None),
    exists().where(
        memberships.c.chunk_id == chunks.c.id,
        memberships.c.from_version <= documents.c.live_version,
        or_(
            memberships.c.until_version.is_(None),
            memberships.c.until_version > documents.c.live_version,
        ),
    ),
)
_STANDINGS = select(
    chunks.c.id,
    chunks.c.document_id,
    documents.c.dataset_id,
    documents.c.seq,
    chunks.c.index_version,
    _is_live,
    exists().where(outbox.c.document_id == chunks.c.document_id),
).join(documents, documents.c.id == chunks.c.document_id)

_CONTENTS = (
    select(
        chunks.c.id,
        documents.c.tenant_id,
        documents.c.dataset_id,
        documents.c.seq,
        chunks.c.heading,
        chunks.c.text,
        chunks.c.index_version,
        chunks.c.vector,
    )
    .join(documents, documents.c.id == chunks.c.document_id)
    .where(is_among(chunks.c.id, "ids"), chunks.c.index_version.is_not(None))
)
