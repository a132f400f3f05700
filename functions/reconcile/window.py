"""The same range of chunk ids on both sides, as much of it as fits into one page of each."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Engine

from functions.reconcile.compare import Difference, compare
from shared.model import EmbeddingSpace, ListedChunk
from shared.ports import ChunkIndex
from shared.postgres.engine import read
from shared.postgres.standings import Standing, list_standings, read_standings

PAGE = 2_000
"""Chunks that are read of each side at once."""


class Window(NamedTuple):
    """What both sides hold of a range of ids.

    Attributes:
        until: its last id; None where nothing comes after it.
    """

    standings: Sequence[Standing]
    listed: Sequence[ListedChunk]
    until: str | None


def read_window(
    engine: Engine,
    index: ChunkIndex,
    space: EmbeddingSpace,
    after: str | None,
    until: str | None = None,
) -> Window:
    """Reads the range after an id, up to another where one is given, or as far as a page goes."""
    # PostgreSQL first: a version stands there only once the index shows it, so whatever the index
    # lacks afterwards is no write that is still under way.
    with read(engine) as connection:
        standings = list_standings(connection, space, after, until, PAGE)
    listed = index.list_chunks(space, after, until, PAGE)
    ends = [page[-1].chunk_id for page in (standings, listed) if len(page) == PAGE]
    if not ends:
        return Window(standings, listed, until)
    end = min(ends)
    return Window(
        [each for each in standings if each.chunk_id <= end],
        [each for each in listed if each.chunk_id <= end],
        end,
    )


def find_differences(engine: Engine, window: Window) -> list[Difference]:
    """Returns the differences of a window that are none of a worker's steps in between."""
    found = list(compare(window.standings, window.listed))
    if not found:
        return []
    with read(engine) as connection:
        now = read_standings(connection, [each.chunk_id for each in found])
    return [each for each in found if each.holds(now.get(each.chunk_id))]
