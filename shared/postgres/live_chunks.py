"""The chunks of a document's live version, as their document shows them: counted, listed, switched.

A chunk that is switched off stays in the search index; queries leave it out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from shared.errors import Conflict, NotFound
from shared.model import Document
from shared.postgres.ids import as_id, is_among, join_ids
from shared.postgres.tables import (
    chunks,
    datasets,
    disabled_chunks,
    documents,
    is_kept,
    memberships,
)

MOST_DISABLED = 10_000
"""Chunks of one dataset that may be off at once: each query names them to the search engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChunk:
    """A chunk as its document shows it."""

    id: str
    document_id: str
    text: str
    heading: str
    position: int
    page: int | None
    char_start: int | None
    char_end: int | None
    enabled: bool


def list_live(
    connection: Connection, document: Document, after: int, limit: int
) -> list[LiveChunk]:
    """Returns the chunks of a document's live version, in order, those after a position."""
    rows = connection.execute(
        _live()
        .where(documents.c.id == document.id, memberships.c.position > after)
        .order_by(memberships.c.position)
        .limit(limit)
    )
    return [LiveChunk(**row._asdict()) for row in rows]


def switch_chunk(
    connection: Connection, tenant_id: str, chunk_id: str, *, enabled: bool
) -> LiveChunk:
    """Switches a live chunk on or off, for the next query.

    It stays as it is while its document keeps this text, whatever else of it changes.

    Raises:
        NotFound: no document of the tenant's has such a chunk now.
        Conflict: too many chunks of its dataset are off.
    """
    owner = connection.execute(
        select(documents.c.id, documents.c.dataset_id)
        .join(chunks, chunks.c.document_id == documents.c.id)
        .where(chunks.c.id == as_id(chunk_id), documents.c.tenant_id == tenant_id)
        .with_for_update(of=documents)
    ).one_or_none()
    # Under the document's lock, so that what shows it now is not purged meanwhile.
    if owner is None or _find(connection, chunk_id) is None:
        raise NotFound(f"there is no chunk {chunk_id!r}")
    # One at a time in a dataset, so that its mark is right.
    connection.execute(
        select(datasets.c.id).where(datasets.c.id == owner.dataset_id).with_for_update()
    )
    if enabled:
        connection.execute(
            delete(disabled_chunks).where(disabled_chunks.c.chunk_id == as_id(chunk_id))
        )
    else:
        connection.execute(
            insert(disabled_chunks)
            .values(chunk_id=as_id(chunk_id), dataset_id=owner.dataset_id)
            .on_conflict_do_nothing()
        )
    _mark(connection, owner.dataset_id)
    switched = _find(connection, chunk_id)
    assert switched is not None  # noqa: S101  its document is locked
    return switched


def _mark(connection: Connection, dataset_id: str) -> None:
    disabled = connection.scalars(
        select(func.count())
        .select_from(disabled_chunks)
        .where(disabled_chunks.c.dataset_id == dataset_id)
    ).one()
    if disabled > MOST_DISABLED:
        raise Conflict(
            f"{MOST_DISABLED:,} chunks of this dataset are disabled already: "
            "disable or delete whole documents"
        )
    connection.execute(
        update(datasets).where(datasets.c.id == dataset_id).values(has_disabled_chunks=disabled > 0)
    )


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """How far a document's newest content has come.

    Attributes:
        total: its chunks; of a version that is not cut yet, those of the one before.
        indexed: of these, those that the search index holds.
        disabled: of these, those that are off.
    """

    total: int = 0
    indexed: int = 0
    disabled: int = 0


def count_chunks(connection: Connection, document_ids: Iterable[str]) -> dict[str, ChunkCounts]:
    """Returns the counts of documents by their ids; one that has no chunks is left out."""
    m = memberships.c
    rows = connection.execute(
        select(
            m.document_id,
            func.count(),
            func.count(chunks.c.index_version),
            func.count(disabled_chunks.c.chunk_id),
        )
        .join(chunks, chunks.c.id == m.chunk_id)
        .outerjoin(disabled_chunks, disabled_chunks.c.chunk_id == m.chunk_id)
        .where(is_among(m.document_id, "ids"), m.until_version.is_(None))
        .group_by(m.document_id),
        {"ids": join_ids(document_ids)},
    )
    return {row[0]: ChunkCounts(*row[1:]) for row in rows}


def _find(connection: Connection, chunk_id: str) -> LiveChunk | None:
    row = connection.execute(_live().where(chunks.c.id == as_id(chunk_id))).one_or_none()
    return None if row is None else LiveChunk(**row._asdict())


def _live() -> Select[Any]:
    m, live = memberships.c, documents.c.live_version
    is_disabled = exists().where(disabled_chunks.c.chunk_id == chunks.c.id)
    return (
        select(
            chunks.c.id,
            chunks.c.document_id,
            chunks.c.text,
            chunks.c.heading,
            m.position,
            m.page,
            m.char_start,
            m.char_end,
            (~is_disabled).label("enabled"),
        )
        .join(memberships, m.chunk_id == chunks.c.id)
        .join(documents, documents.c.id == chunks.c.document_id)
        .where(
            m.from_version <= live,
            or_(m.until_version.is_(None), m.until_version > live),
            documents.c.deleted_at.is_(None),
            exists().where(datasets.c.id == documents.c.dataset_id, is_kept),
        )
    )
