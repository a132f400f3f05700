"""Chunks and their memberships: which piece of text belongs to which versions of its document.

A chunk's text, keywords and vector never change. A membership says from which version a chunk is
part of its document and until which (excluded; null = still), and where it stands there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Connection,
    Integer,
    LargeBinary,
    Text,
    Uuid,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.types import TypeEngine

from shared.model import Document, Vector
from shared.postgres.tables import chunks, memberships, parents


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


def persist_chunks(
    connection: Connection,
    document: Document,
    new: Sequence[StoredChunk],
    members: Sequence[Membership],
    parent_texts: Mapping[str, str],
) -> None:
    """Makes `members` the content of `document.version`. Running it again changes nothing.

    Args:
        connection: in a transaction that holds the document's lock.
        document: whose content it is.
        new: chunks that are not stored yet.
        members: all chunks of the version.
        parent_texts: the texts of their parents, by id.
    """
    if new:
        connection.execute(
            _INSERT_CHUNKS,
            {
                "document": document.id,
                "ids": [chunk.id for chunk in new],
                "texts": [chunk.text for chunk in new],
                "headings": [chunk.heading for chunk in new],
                "keywords": [chunk.keywords for chunk in new],
                "vectors": [None if c.vector is None else _bytes(c.vector) for c in new],
            },
        )
    open_rows = connection.execute(
        select(memberships).where(
            memberships.c.document_id == document.id, memberships.c.until_version.is_(None)
        )
    )
    held = {
        Membership(
            row.chunk_id, row.position, row.page, row.char_start, row.char_end, row.parent_id
        )
        for row in open_rows
    }
    wanted = set(members)
    _close(connection, document, [m.chunk_id for m in held - wanted])
    joining = [m for m in members if m not in held]
    named = {m.parent_id for m in joining if m.parent_id is not None}
    if named:
        connection.execute(
            _INSERT_PARENTS,
            {
                "document": document.id,
                "ids": list(named),
                "texts": [parent_texts[id_] for id_ in named],
            },
        )
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


def _close(connection: Connection, document: Document, chunk_ids: Collection[str]) -> None:
    if not chunk_ids:
        return
    leaving = and_(
        memberships.c.document_id == document.id,
        memberships.c.until_version.is_(None),
        memberships.c.chunk_id.in_(list(chunk_ids)),
    )
    # A membership that began with this very version (a repeated run) was never anybody's.
    connection.execute(
        delete(memberships).where(leaving, memberships.c.from_version == document.version)
    )
    connection.execute(update(memberships).where(leaving).values(until_version=document.version))


def list_unindexed(connection: Connection, document: Document) -> list[StoredChunk]:
    """Returns the chunks of a document's newest content that the search index does not hold."""
    rows = connection.execute(
        select(chunks)
        .where(chunks.c.document_id == document.id, chunks.c.index_version.is_(None), _is_open())
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
            update(chunks).where(chunks.c.id.in_(chunk_ids)).values(index_version=index_version)
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


def purge_superseded(connection: Connection, document_id: str, keep: timedelta) -> None:
    """Forgets memberships that ended longer ago than queries last, and what is left without any."""
    connection.execute(
        delete(memberships).where(
            memberships.c.document_id == document_id,
            memberships.c.superseded_at < func.now() - keep,
        )
    )
    connection.execute(
        delete(chunks).where(
            chunks.c.document_id == document_id,
            chunks.c.index_version.is_(None),
            not_(exists().where(memberships.c.chunk_id == chunks.c.id)),
        )
    )
    connection.execute(
        delete(parents).where(
            parents.c.document_id == document_id,
            not_(exists().where(memberships.c.parent_id == parents.c.id)),
        )
    )


def delete_chunks(connection: Connection, document_id: str) -> None:
    """Forgets every chunk of a document, memberships and parents included."""
    connection.execute(delete(chunks).where(chunks.c.document_id == document_id))
    connection.execute(delete(parents).where(parents.c.document_id == document_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChunk:
    """A chunk as its document shows it."""

    id: str
    text: str
    heading: str
    position: int
    page: int | None
    char_start: int | None
    char_end: int | None


def list_live(
    connection: Connection, document: Document, after: int, limit: int
) -> list[LiveChunk]:
    """Returns the chunks of a document's live version, in order, those after a position."""
    m = memberships.c
    rows = connection.execute(
        select(
            chunks.c.id,
            chunks.c.text,
            chunks.c.heading,
            m.position,
            m.page,
            m.char_start,
            m.char_end,
        )
        .join(memberships, m.chunk_id == chunks.c.id)
        .where(
            chunks.c.document_id == document.id,
            m.from_version <= document.live_version,
            or_(m.until_version.is_(None), m.until_version > document.live_version),
            m.position > after,
        )
        .order_by(m.position)
        .limit(limit)
    )
    return [LiveChunk(**row._asdict()) for row in rows]


def _is_open() -> Any:
    return exists().where(
        memberships.c.chunk_id == chunks.c.id, memberships.c.until_version.is_(None)
    )


def _bytes(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()


def _column(name: str, type_: TypeEngine[Any], sent_as: TypeEngine[Any]) -> Any:
    return func.unnest(cast(bindparam(name, type_=ARRAY(sent_as)), ARRAY(type_)))


def _one(name: str, type_: TypeEngine[Any]) -> Any:
    return cast(bindparam(name), type_)


_ID: TypeEngine[Any] = Uuid(as_uuid=False)

# One statement of parallel arrays each: the driver sends rows of an executemany one by one.
_INSERT_CHUNKS = insert(chunks).from_select(
    ["document_id", "id", "text", "heading", "keywords", "vector"],
    select(
        _one("document", _ID),
        _column("ids", _ID, Text()),
        _column("texts", Text(), Text()),
        _column("headings", Text(), Text()),
        _column("keywords", LargeBinary(), LargeBinary()),
        _column("vectors", LargeBinary(), LargeBinary()),
    ),
)
# A parent that is there already is the same one: its id is made of its text.
_INSERT_PARENTS = (
    insert(parents)
    .from_select(
        ["document_id", "id", "text"],
        select(
            _one("document", _ID), _column("ids", _ID, Text()), _column("texts", Text(), Text())
        ),
    )
    .on_conflict_do_nothing()
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
        _one("document", _ID),
        _one("version", BigInteger()),
        _column("ids", _ID, Text()),
        _column("positions", Integer(), Integer()),
        _column("pages", Integer(), Integer()),
        _column("starts", Integer(), Integer()),
        _column("ends", Integer(), Integer()),
        _column("parents", _ID, Text()),
    ),
)
