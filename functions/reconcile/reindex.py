"""A new index beside the old one, from what PostgreSQL keeps, then in its place.

While it is built, writers write to both, and make nothing the truth that they have not written to
both. So what PostgreSQL says of a chunk can be copied at any time in the version that it has there:
what a writer brings, or takes away, is newer. The copying is repeated until one pass over all
chunks finds nothing to do; then one request to the engine has queries find the new index.
"""

from collections.abc import Callable, Sequence
from itertools import batched

from sqlalchemy import Engine

from functions.reconcile.compare import Difference, Kind
from functions.reconcile.repair import BATCH, write_chunks
from functions.reconcile.window import find_differences, read_window
from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace
from shared.ports import ChunkIndex, IndexBuilder
from shared.postgres.builds import begin_build, end_build, only_builder
from shared.postgres.engine import read, transaction
from shared.postgres.standings import list_spaces, read_contents

MOST_PASSES = 5


def reindex(
    engine: Engine,
    index: ChunkIndex,
    builder: IndexBuilder,
    watch: Callable[[int], object] = lambda _: None,
) -> Sequence[EmbeddingSpace]:
    """Builds the index of every space anew, and returns the spaces.

    Whoever dies on the way leaves an index that the next call goes on with.

    Args:
        engine: the database.
        index: the search index.
        builder: makes indices.
        watch: told of each page's copied chunks.

    Raises:
        Conflict: another is at work.
        Unavailable: a store does not answer, or the new index can't be brought into step.
    """
    with only_builder(engine):
        with read(engine) as connection:
            spaces = list_spaces(connection)
        for space in spaces:
            _build(engine, index, builder, space, watch)
        return spaces


def _build(
    engine: Engine,
    index: ChunkIndex,
    builder: IndexBuilder,
    space: EmbeddingSpace,
    watch: Callable[[int], object],
) -> None:
    builder.begin(space)
    with transaction(engine) as connection:
        begin_build(connection, space)
    _fill(engine, index.building, space, watch)
    builder.put_live(space)
    with transaction(engine) as connection:
        end_build(connection, space)
    builder.finish(space)


def _fill(
    engine: Engine, building: ChunkIndex, space: EmbeddingSpace, watch: Callable[[int], object]
) -> None:
    refused: set[str] = set()
    for _ in range(MOST_PASSES):
        building.refresh(space)
        if not _copy_all(engine, building, space, refused, watch):
            return
    raise IndexUnavailable("The new index can't be brought into step with the database.")


def _copy_all(
    engine: Engine,
    building: ChunkIndex,
    space: EmbeddingSpace,
    refused: set[str],
    watch: Callable[[int], object],
) -> int:
    """Goes over all chunks once, and returns how many had to be copied or taken away.

    Args:
        engine: the database.
        building: the index that is being built.
        space: whose it is.
        refused: chunks that it never takes; those that it refuses now are added.
        watch: told of each page's copied chunks.
    """
    after, copied = None, 0
    while True:
        window = read_window(engine, building, space, after)
        differences = [
            each
            for each in find_differences(engine, window)
            if _is_ours(each) and each.chunk_id not in refused
        ]
        for batch in batched(differences, BATCH, strict=False):
            refused.update(_copy(engine, building, space, batch))
        copied += len(differences)
        watch(len(differences))
        after = window.until
        if after is None:
            return copied


def _copy(
    engine: Engine, building: ChunkIndex, space: EmbeddingSpace, differences: Sequence[Difference]
) -> Sequence[str]:
    orphaned = [each for each in differences if each.kind is Kind.ORPHANED]
    building.delete_seen(space, [each.listed for each in orphaned if each.listed is not None])
    wanted = [each.chunk_id for each in differences if each.kind is not Kind.ORPHANED]
    with read(engine) as connection:
        contents = read_contents(connection, wanted)
    return write_chunks(building, space, contents)


def _is_ours(difference: Difference) -> bool:
    """Tells whether copying a chunk in its version helps; what it does not is for reconcile."""
    if difference.kind is Kind.ORPHANED or difference.standing is None:
        return True
    version = difference.standing.version
    if version is None:
        return False
    return difference.listed is None or difference.listed.version < version
