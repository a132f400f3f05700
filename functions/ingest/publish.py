"""Index, flip, and take away what left: PostgreSQL decided already, OpenSearch follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import batched

from sqlalchemy import Engine

from functions.ingest.together import Work, Written
from shared.analysis.indexed import index_chunk
from shared.errors import IndexUnavailable
from shared.model import Dataset, Document, EmbeddingSpace, IndexedChunk, IndexingStatus
from shared.ports import ChunkIndex, ContentStore
from shared.postgres.builds import Build, hold_build, read_build
from shared.postgres.chunks import (
    Membership,
    StoredChunk,
    delete_chunks,
    list_all_ids,
    list_unindexed,
    load_chunks,
    mark_indexed,
    purge_superseded,
    replace_members,
    supersede,
)
from shared.postgres.documents import find_document, lock_version, write_locked
from shared.postgres.engine import read, transaction
from shared.postgres.versions import draw_version

SUPERSEDED_STAY = timedelta(minutes=5)
"""How long PostgreSQL keeps a chunk after its time, for queries in flight."""

AT_ONCE = 500
"""Chunks that are read, analysed and written at once, however many a document has."""

_MOST_BUILDS = 5
"""How often a build may begin or end while one document is written."""


def publish(
    engine: Engine,
    index: ChunkIndex,
    dataset: Dataset,
    document: Document,
    members: Sequence[Membership] | None = None,
) -> Work[bool]:
    """Makes the newest content of a document the one that queries find.

    Args:
        engine: the database.
        index: the search index.
        dataset: the document's.
        document: with the index_version of this write.
        members: that content, where its chunks are no members yet.

    Each step can be repeated. Returns False where this writer is not the newest any more: it stops,
    and what is left to do is the newest one's.
    """
    space = dataset.space
    ids = None if members is None else [each.chunk_id for each in members]
    for _ in range(_MOST_BUILDS):
        with read(engine) as connection:
            waiting = list_unindexed(connection, document, ids)
            build = read_build(connection, space)
        targets = [index, index.building] if build.is_under_way else [index]
        if not _write(engine, targets, space, document, waiting):
            return False
        yield Written(targets, space)
        try:
            flipped = _flip(engine, space, document, waiting, build, members)
        except _BuildChanged:
            continue
        if flipped is None:
            return False
        if flipped.left:
            for target in targets:
                target.delete(space, flipped.left, flipped.version)
            yield Written(targets, space)
        return True
    raise IndexUnavailable("The search index is being built anew, again and again.")


def _write(
    engine: Engine,
    targets: Sequence[ChunkIndex],
    space: EmbeddingSpace,
    document: Document,
    waiting: Sequence[str],
) -> bool:
    for target in targets:
        target.ensure(space)
    for ids in batched(waiting, AT_ONCE, strict=False):
        with read(engine) as connection:
            loaded = load_chunks(connection, ids)
        chunks = [_indexed(document, chunk) for chunk in loaded]
        if not _is_newest(engine, document):
            return False
        for target in targets:
            target.upsert(space, chunks)
    return True


def remove(
    engine: Engine, index: ChunkIndex, content: ContentStore, dataset: Dataset, document: Document
) -> Work[bool]:
    """Takes a deleted document out of the index, then forgets its chunks; the tombstone stays.

    Returns False where the document was sent again in the meantime.
    """
    space = dataset.space
    with read(engine) as connection:
        ids = list_all_ids(connection, document.id)
        build = read_build(connection, space)  # one that begins later finds the document deleted
    if ids:
        targets = [index, index.building] if build.is_under_way else [index]
        for target in targets:
            target.ensure(space)
            target.delete(space, ids, document.index_version or 0)
        yield Written(targets, space)
    if document.content_key is not None:
        content.delete(document.content_key)  # before the row forgets where they are
    with transaction(engine) as connection:
        locked = lock_version(connection, document)
        if locked is None:
            return False
        delete_chunks(connection, document.id)
        write_locked(
            connection,
            locked,
            {"live_version": None, "content_key": None, "content_hash": None},
        )
    return True


def _is_newest(engine: Engine, document: Document) -> bool:
    with read(engine) as connection:
        now = find_document(connection, document.tenant_id, document.id)
    return now is not None and now.index_version == document.index_version


@dataclass(frozen=True, slots=True)
class _Flipped:
    """The chunks that left, and the version to delete them under.

    Drawn under the document's lock, so that it beats what a repair wrote of them in the meantime.
    """

    left: Sequence[str]
    version: int


class _BuildChanged(Exception):
    """A build began or ended since the chunks were written: they may be in the wrong index."""


def _flip(
    engine: Engine,
    space: EmbeddingSpace,
    document: Document,
    written: Sequence[str],
    build: Build,
    members: Sequence[Membership] | None,
) -> _Flipped | None:
    with transaction(engine) as connection:
        locked = lock_version(connection, document)
        if locked is None or locked.deleted_at is not None:
            return None
        if hold_build(connection, space) != build:
            raise _BuildChanged
        if members is not None:
            replace_members(connection, locked, members)
        mark_indexed(connection, written, document.index_version)
        values = {
            "live_version": document.version,
            "indexing_status": IndexingStatus.COMPLETED,
            "completed_at": datetime.now(UTC),
        }
        write_locked(connection, locked, values)
        # Under the document's lock: a newer version may take back what is purged here.
        forgotten = purge_superseded(connection, document.id, SUPERSEDED_STAY)
        left = [*forgotten, *supersede(connection, document)]
        # Before the index forgets them: a chunk that comes back is then written again, whatever
        # became of this writer.
        mark_indexed(connection, left, None)
        return _Flipped(left, draw_version(connection) if left else 0)


def _indexed(document: Document, chunk: StoredChunk) -> IndexedChunk:
    if document.index_version is None:
        raise ValueError("a document is persisted before it is published")
    return index_chunk(
        chunk_id=chunk.id,
        tenant_id=document.tenant_id,
        dataset_id=document.dataset_id,
        document_seq=document.seq,
        heading=chunk.heading,
        text=chunk.text,
        vector=chunk.vector,
        index_version=document.index_version,
    )
