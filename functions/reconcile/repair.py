"""Makes the index agree with PostgreSQL over chunks that differ, from what PostgreSQL keeps.

A chunk that the index must hold is written again under a new version, which PostgreSQL has first,
under the lock of its document. Whoever takes the chunk away later draws a newer one under the same
lock, so that the order of what reaches the index does not matter. What the index must not hold is
deleted in the version that was seen: whatever a worker writes of it is newer.
"""

from collections.abc import Sequence
from itertools import batched

from sqlalchemy import Connection, Engine

from functions.reconcile.compare import Difference, Kind
from shared.analysis.indexed import index_chunk
from shared.errors import DocumentRefused
from shared.model import EmbeddingSpace, IndexedChunk
from shared.ports import ChunkIndex
from shared.postgres.builds import hold_build
from shared.postgres.engine import read, transaction
from shared.postgres.standings import (
    Content,
    Standing,
    forget_versions,
    lock_standings,
    read_contents,
    renew_versions,
)
from shared.postgres.versions import raise_versions, read_newest
from shared.telemetry import log_failure

BATCH = 500
"""Chunks, and so documents, that are locked at once."""

_LEAP = 2**32
"""More versions than any older copy of the database can lack."""

_MOST = 2**62
"""No database of ours ever drew a version above this: a hand wrote it, and no leap goes over it."""


def repair(
    engine: Engine,
    index: ChunkIndex,
    space: EmbeddingSpace,
    differences: Sequence[Difference],
    *,
    again: bool,
) -> None:
    """Repairs differences; what can't be repaired now is left as it is.

    Args:
        engine: the database.
        index: the search index; it shows the repairs after its next refresh.
        space: whose index it is.
        differences: confirmed ones.
        again: the last try wrote what the index did not take.
    """
    _catch_up(engine, differences, again)
    index.ensure(space)
    for batch in batched(differences, BATCH, strict=False):
        orphaned = [each for each in batch if each.kind is Kind.ORPHANED]
        wanted = [each for each in batch if each.kind is not Kind.ORPHANED]
        _take_away(engine, index, space, orphaned)
        # What is out of reach goes; once the index has forgotten that, it takes the chunk again.
        listed = [each.listed for each in wanted if each.listed is not None]
        index.delete_seen(space, [each for each in listed if each.version > _MOST])
        _write_again(engine, index, space, wanted)


def _catch_up(engine: Engine, differences: Sequence[Difference], again: bool) -> None:
    """Leaps over the versions that the index had from a newer state of the database."""
    seen = [each.listed.version for each in differences if each.listed]
    highest = max((version for version in seen if version <= _MOST), default=0)
    with read(engine) as connection:
        newest = read_newest(connection)
    if again or highest > newest:
        with transaction(engine) as connection:
            raise_versions(connection, max(highest, newest) + _LEAP)


def _take_away(
    engine: Engine, index: ChunkIndex, space: EmbeddingSpace, orphaned: Sequence[Difference]
) -> None:
    known = [each for each in orphaned if each.standing is not None]
    with transaction(engine) as connection:
        held = _lock(connection, known)
        forget_versions(connection, list(held))
    gone = [each for each in orphaned if each.standing is None or each.chunk_id in held]
    index.delete_seen(space, [each.listed for each in gone if each.listed is not None])


def _write_again(
    engine: Engine, index: ChunkIndex, space: EmbeddingSpace, wanted: Sequence[Difference]
) -> None:
    with transaction(engine) as connection:
        held = _lock(connection, wanted)
        build = hold_build(connection, space)
        renew_versions(connection, list(held))
        contents = read_contents(connection, list(held))
    for target in [index, index.building] if build.is_under_way else [index]:
        write_chunks(target, space, contents)


def _lock(connection: Connection, differences: Sequence[Difference]) -> dict[str, Standing]:
    """Returns those that still are differences, by chunk id, with their documents locked."""
    ids = [each.chunk_id for each in differences]
    owners = {each.standing.document_id for each in differences if each.standing is not None}
    now = lock_standings(connection, ids, owners) if ids else {}
    return {
        each.chunk_id: now[each.chunk_id]
        for each in differences
        if each.chunk_id in now and each.holds(now[each.chunk_id])
    }


def write_chunks(
    index: ChunkIndex, space: EmbeddingSpace, contents: Sequence[Content]
) -> Sequence[str]:
    """Writes chunks in the versions that they have, and returns those that the index never takes.

    None of these keeps another from it.
    """
    return _upsert(index, space, [index_chunk(**each._asdict()) for each in contents])


def _upsert(
    index: ChunkIndex, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]
) -> Sequence[str]:
    try:
        index.upsert(space, chunks)
    except DocumentRefused as error:
        if len(chunks) == 1:
            log_failure("a chunk can't be written again", error, chunk_id=chunks[0].id)
            return [chunks[0].id]
        middle = len(chunks) // 2
        halves = (chunks[:middle], chunks[middle:])
        return [each for half in halves for each in _upsert(index, space, half)]
    return []
