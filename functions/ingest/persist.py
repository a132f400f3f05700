"""Chunks, memberships, the write's index_version and the outbox row: one transaction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from functions.ingest.passages import Content, name_parents
from shared.chunking import show_chunking
from shared.errors import Unavailable
from shared.fusion.keywords import dify_keywords, pack_keywords
from shared.model import Action, Dataset, Document, IndexingStatus, Passage, Vector
from shared.postgres import outbox
from shared.postgres.chunks import (
    Membership,
    StoredChunk,
    has_members,
    list_stored_ids,
    persist_members,
    store_chunks,
)
from shared.postgres.documents import lock_version, write_locked
from shared.postgres.engine import read, transaction
from shared.postgres.outbox import Taken
from shared.postgres.parents import store_parents
from shared.postgres.versions import draw_version

type New = Sequence[tuple[str, Passage, Vector | None]]
"""Passages that are to be stored, under their chunk ids, with their vectors."""


def find_new(engine: Engine, document: Document, ids: Sequence[str]) -> list[int]:
    """Returns the places of those ids that PostgreSQL holds no chunk of this document under."""
    with read(engine) as connection:
        stored = list_stored_ids(connection, document.id)
    return [place for place, id_ in enumerate(ids) if id_ not in stored]


def store(engine: Engine, document: Document, new: New) -> bool:
    """Stores chunks that are in no version yet, so that nobody has to keep or make them again.

    Returns False where a newer change won in the meantime.
    """
    chunks = [_chunk(*each) for each in new]
    with transaction(engine) as connection:
        locked = lock_version(connection, document)
        if locked is None or locked.deleted_at is not None:
            return False
        store_chunks(connection, document.id, chunks)
        return True


@dataclass(frozen=True, slots=True)
class Persisted:
    """A document with its new index_version.

    Attributes:
        members: what its live version is to consist of from the flip on; None where it does.
        is_settled: it came out as it was: nothing is left to do.
    """

    document: Document
    members: Sequence[Membership] | None = None
    is_settled: bool = False


def persist(
    engine: Engine,
    taken: Taken,
    dataset: Dataset,
    document: Document,
    content: Content,
    ids: Sequence[str],
    new: New,
) -> Persisted | None:
    """Makes what was read the content of the document's version.

    Where queries find that version already, cut otherwise, its chunks become members only when they
    are in the index.

    Args:
        engine: the database.
        taken: the work.
        dataset: the document's.
        document: as it was when it was taken.
        content: what was read.
        ids: of its passages' chunks.
        new: those of them that are not stored yet.

    Returns:
        What is to be published; None where a newer change won in the meantime.

    Raises:
        Unavailable: somebody else at the document forgot chunks that were stored for it.
    """
    parents = name_parents(document, content.passages)
    members = [_member(*each) for each in zip(ids, content.passages, parents, strict=True)]
    chunks = [_chunk(*each) for each in new]
    with transaction(engine) as connection:
        locked = lock_version(connection, document)
        if locked is None or locked.deleted_at is not None:
            return None
        held = list_stored_ids(connection, document.id)
        if not held.union(chunk.id for chunk in chunks).issuperset(ids):
            raise Unavailable("chunks of the document are gone; try again")
        is_live = locked.live_version == locked.version
        values: dict[str, Any] = {
            "title": content.title,
            "encoding": content.encoding,
            "guessed": content.guessed,
            "left_out": list(content.left_out),
            "chunking": show_chunking(dataset.chunking),
        }
        if is_live and held == set(ids) and has_members(connection, locked, members):
            values["indexing_status"] = IndexingStatus.COMPLETED
            return Persisted(write_locked(connection, locked, values), is_settled=True)
        store_parents(connection, locked, _list_parents(content.passages, parents))
        store_chunks(connection, document.id, chunks)
        values["index_version"] = draw_version(connection)
        values["indexing_status"] = IndexingStatus.INDEXING
        if is_live:
            return Persisted(write_locked(connection, locked, values), members)
        persist_members(connection, locked, members)
        outbox.advance(connection, taken, Action.INDEX)
        return Persisted(write_locked(connection, locked, values))


def _list_parents(
    passages: Sequence[Passage], ids: Sequence[str | None]
) -> Iterator[tuple[str, str]]:
    """Yields the ids and texts of parents, each once: its children stand in a row."""
    last: str | None = None
    for passage, id_ in zip(passages, ids, strict=True):
        if passage.parent is not None and id_ is not None and id_ != last:
            yield id_, passage.parent.text
        last = id_


def _chunk(id_: str, passage: Passage, vector: Vector | None) -> StoredChunk:
    return StoredChunk(
        id=id_,
        text=passage.text,
        heading=passage.heading,
        keywords=pack_keywords(dify_keywords(passage.searchable_text)),
        vector=vector,
    )


def _member(id_: str, passage: Passage, parent_id: str | None) -> Membership:
    span = passage.span
    return Membership(
        id_,
        passage.position,
        passage.page,
        span.start if span else None,
        span.end if span else None,
        parent_id,
    )
