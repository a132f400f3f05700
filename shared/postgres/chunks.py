"""Chunks and their memberships: which piece of text belongs to which versions of its document.

A chunk's text, keywords and vector never change. A membership says from which version a chunk is
part of its document and until which (excluded; null = still), and where it stands there.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    Text,
    and_,
    delete,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from shared.model import Document, Vector
from shared.postgres.arrays import ID, column, one
from shared.postgres.ids import is_among, join_ids
from shared.postgres.parents import forget_parents
from shared.postgres.tables import chunks, memberships


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A chunk's content. `keywords` as `shared.fusion.keywords.pack_keywords` writes them."""

    id: str
    text: str
    heading: str
    keywords: bytes
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Membership:
    """Where a chunk stands in one version of its document, and what is returned for it."""

    chunk_id: str
    position: int
    page: int | None
    char_start: int | None
    char_end: int | None
    parent_id: str | None = None


def list_stored_ids(connection: Connection, document_id: str) -> set[str]:
    """Returns the ids of all chunks that PostgreSQL holds of a document, superseded ones too."""
    return set(connection.scalars(select(chunks.c.id).where(chunks.c.document_id == document_id)))


def store_chunks(connection: Connection, document_id: str, new: Sequence[StoredChunk]) -> None:
    """Stores chunks that are not there yet; they belong to no version."""
    if new:
        connection.execute(
            _INSERT_CHUNKS,
            {
                "document": document_id,
                "ids": [chunk.id for chunk in new],
                "texts": [chunk.text for chunk in new],
                "headings": [chunk.heading for chunk in new],
                "keywords": [chunk.keywords for chunk in new],
                "vectors": [None if c.vector is None else _bytes(c.vector) for c in new],
            },
        )


def has_members(connection: Connection, document: Document, members: Sequence[Membership]) -> bool:
    """Tells whether these chunks, in these places, are the document's newest content already."""
    return _list_open(connection, document) == set(members)


def persist_members(
    connection: Connection, document: Document, members: Sequence[Membership]
) -> None:
    """Makes stored chunks the content of `document.version`, which no query finds yet.

    Running it again changes nothing.
    """
    held, wanted = _list_open(connection, document), set(members)
    _close(connection, document, [m.chunk_id for m in held - wanted])
    _join(connection, document, [m for m in members if m not in held])


def replace_members(
    connection: Connection, document: Document, members: Sequence[Membership]
) -> None:
    """Makes stored chunks the content of the version that queries find.

    What leaves is superseded at once, and still there for the queries that are under way.
    """
    held = _list_open(connection, document)
    joining = [m for m in members if m not in held]
    leaving = {m.chunk_id for m in held} - {m.chunk_id for m in members}
    if leaving:
        connection.execute(
            update(memberships)
            .where(_is_open_of(document, leaving))
            .values(until_version=document.version, superseded_at=func.now())
        )
    if joining:
        # Places that changed, and those of chunks that left this very version and come back.
        connection.execute(
            delete(memberships).where(
                memberships.c.document_id == document.id,
                memberships.c.chunk_id.in_([m.chunk_id for m in joining]),
                or_(
                    memberships.c.until_version.is_(None),
                    memberships.c.from_version == document.version,
                ),
            )
        )
    _join(connection, document, joining)


def _list_open(connection: Connection, document: Document) -> set[Membership]:
    rows = connection.execute(
        select(memberships).where(
            memberships.c.document_id == document.id, memberships.c.until_version.is_(None)
        )
    )
    return {
        Membership(
            row.chunk_id, row.position, row.page, row.char_start, row.char_end, row.parent_id
        )
        for row in rows
    }


def _join(connection: Connection, document: Document, joining: Sequence[Membership]) -> None:
    if joining:
        connection.execute(
            _INSERT_MEMBERSHIPS,
            {
                "document": document.id,
                "version": document.version,
                "ids": [m.chunk_id for m in joining],
                "positions": [m.position for m in joining],
                "pages": [m.page for m in joining],
                "starts": [m.char_start for m in joining],
                "ends": [m.char_end for m in joining],
                "parents": [m.parent_id for m in joining],
            },
        )


def _is_open_of(document: Document, chunk_ids: Collection[str]) -> ColumnElement[bool]:
    return and_(
        memberships.c.document_id == document.id,
        memberships.c.until_version.is_(None),
        memberships.c.chunk_id.in_(list(chunk_ids)),
    )


def _close(connection: Connection, document: Document, chunk_ids: Collection[str]) -> None:
    if not chunk_ids:
        return
    leaving = _is_open_of(document, chunk_ids)
    # A membership that began with this very version (a repeated run) was never anybody's.
    connection.execute(
        delete(memberships).where(leaving, memberships.c.from_version == document.version)
    )
    connection.execute(update(memberships).where(leaving).values(until_version=document.version))


def list_unindexed(
    connection: Connection, document: Document, members: Collection[str] | None = None
) -> list[StoredChunk]:
    """Returns the chunks of a document's newest content that the search index does not hold.

    Args:
        connection: reads.
        document: whose they are.
        members: the ids of that content's chunks, where they are no members yet.
    """
    belongs = _is_open() if members is None else chunks.c.id.in_(list(members))
    rows = connection.execute(
        select(chunks)
        .where(chunks.c.document_id == document.id, chunks.c.index_version.is_(None), belongs)
        .order_by(chunks.c.id)
    )
    return [
        StoredChunk(
            id=row.id,
            text=row.text,
            heading=row.heading,
            keywords=row.keywords,
            vector=None if row.vector is None else np.frombuffer(row.vector, dtype="<f4"),
        )
        for row in rows
    ]


def mark_indexed(
    connection: Connection, chunk_ids: Sequence[str], index_version: int | None
) -> None:
    """Notes under which external version the index holds chunks; None = not at all."""
    if chunk_ids:
        connection.execute(
            update(chunks).where(is_among(chunks.c.id, "ids")).values(index_version=index_version),
            {"ids": join_ids(chunk_ids)},
        )


def supersede(connection: Connection, document: Document) -> Sequence[str]:
    """Ends the time of memberships that are over, and returns the chunks that left.

    Those that were never known to be indexed too: a writer that was overtaken may have written
    them.
    """
    connection.execute(
        update(memberships)
        .where(
            memberships.c.document_id == document.id,
            memberships.c.until_version <= document.version,
            memberships.c.superseded_at.is_(None),
        )
        .values(superseded_at=func.now())
    )
    return connection.scalars(
        select(chunks.c.id).where(chunks.c.document_id == document.id, not_(_is_open()))
    ).all()


def list_all_ids(connection: Connection, document_id: str) -> Sequence[str]:
    """Returns the ids of every chunk of a document, in order."""
    return connection.scalars(
        select(chunks.c.id).where(chunks.c.document_id == document_id).order_by(chunks.c.id)
    ).all()


def purge_superseded(connection: Connection, document_id: str, keep: timedelta) -> Sequence[str]:
    """Forgets memberships that ended longer ago than queries last, and chunks left without any.

    Returns:
        The ids of those chunks: a writer that was overtaken may have written them to the index.
    """
    connection.execute(
        delete(memberships).where(
            memberships.c.document_id == document_id,
            memberships.c.superseded_at < func.now() - keep,
        )
    )
    left = connection.scalars(
        delete(chunks)
        .where(
            chunks.c.document_id == document_id,
            chunks.c.index_version.is_(None),
            not_(exists().where(memberships.c.chunk_id == chunks.c.id)),
        )
        .returning(chunks.c.id)
    ).all()
    forget_parents(connection, document_id)
    return left


def delete_chunks(connection: Connection, document_id: str) -> None:
    """Forgets every chunk of a document, memberships and parents included."""
    connection.execute(delete(chunks).where(chunks.c.document_id == document_id))
    forget_parents(connection, document_id)


def _is_open() -> Any:
    return exists().where(
        memberships.c.chunk_id == chunks.c.id, memberships.c.until_version.is_(None)
    )


def _bytes(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()


_INSERT_CHUNKS = insert(chunks).from_select(
    ["document_id", "id", "text", "heading", "keywords", "vector"],
    select(
        one("document", ID),
        column("ids", ID, Text()),
        column("texts", Text(), Text()),
        column("headings", Text(), Text()),
        column("keywords", LargeBinary(), LargeBinary()),
        column("vectors", LargeBinary(), LargeBinary()),
    ),
)
_INSERT_MEMBERSHIPS = insert(memberships).from_select(
    [
        "document_id",
        "from_version",
        "chunk_id",
        "position",
        "page",
        "char_start",
        "char_end",
        "parent_id",
    ],
    select(
        one("document", ID),
        one("version", BigInteger()),
        column("ids", ID, Text()),
        column("positions", Integer(), Integer()),
        column("pages", Integer(), Integer()),
        column("starts", Integer(), Integer()),
        column("ends", Integer(), Integer()),
        column("parents", ID, Text()),
    ),
)
