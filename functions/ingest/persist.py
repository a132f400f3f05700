"""Chunks, memberships, the write's index_version and the outbox row: one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from functions.ingest.passages import Content, name_chunks, name_parents
from shared.chunking import show_chunking
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


def find_new(engine: Engine, document: Document, passages: Sequence[Passage]) -> list[Passage]:
    """Returns the passages that PostgreSQL does not hold as chunks of this document yet."""
    with read(engine) as connection:
        stored = list_stored_ids(connection, document.id)
    ids = name_chunks(document, passages)
    return [passage for passage, id_ in zip(passages, ids, strict=True) if id_ not in stored]


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
    new: Sequence[tuple[Passage, Vector | None]],
) -> Persisted | None:
    """Makes what was read the content of the document's version.

    Where queries find that version already, cut otherwise, its chunks become members only when they
    are in the index.

    Returns:
        What is to be published; None where a newer change won in the meantime.
    """
    passages = content.passages
    ids = dict(zip((p.position for p in passages), name_chunks(document, passages), strict=True))
    stored = [_chunk(ids[passage.position], passage, vector) for passage, vector in new]
    parents = list(zip(passages, name_parents(document, passages), strict=True))
    members = [_member(ids[passage.position], passage, parent) for passage, parent in parents]
    texts = {id_: p.parent.text for p, id_ in parents if p.parent is not None and id_ is not None}
    with transaction(engine) as connection:
        locked = lock_version(connection, document)
        if locked is None or locked.deleted_at is not None:
            return None
        held = list_stored_ids(connection, document.id)
        is_live = locked.live_version == locked.version
        values: dict[str, Any] = {
            "title": content.title,
            "encoding": content.encoding,
            "guessed": content.guessed,
            "left_out": list(content.left_out),
            "chunking": show_chunking(dataset.chunking),
        }
        if is_live and held == set(ids.values()) and has_members(connection, locked, members):
            values["indexing_status"] = IndexingStatus.COMPLETED
            return Persisted(write_locked(connection, locked, values), is_settled=True)
        store_parents(connection, locked, texts)
        store_chunks(connection, document.id, [c for c in stored if c.id not in held])
        values["index_version"] = draw_version(connection)
        values["indexing_status"] = IndexingStatus.INDEXING
        if is_live:
            return Persisted(write_locked(connection, locked, values), members)
        persist_members(connection, locked, members)
        outbox.advance(connection, taken, Action.INDEX)
        return Persisted(write_locked(connection, locked, values))


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
