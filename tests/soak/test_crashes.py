"""The ingest process is killed at every step and inside its bulks, then the change is delivered
again: nothing is lost, nothing is left over, nothing is there twice, and whoever asks meanwhile
always finds the old text or the new one.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy import Engine

from shared.content.folder import FolderContentStore
from shared.model import Change
from shared.opensearch.client import SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from tests.integration.app import build
from tests.soak.place import Nursery, Place
from tests.soak.sizes import IS_SOAK, choose

FEW_STEPS = 8  # of each way, where not every one is taken
INSIDE_BULKS = choose(2, 12)  # of each way
KILLS = choose(40, 200)


@pytest.fixture
def place(
    database: Engine, search: SearchEngine, module_index_prefix: str, tmp_path: Path
) -> Iterator[Place]:
    index = OpenSearchChunkIndex(search, module_index_prefix)
    found = OpenSearchChunkSearch(search, module_index_prefix)
    app = build(database, index, found, FolderContentStore(tmp_path), threads=4)
    place = Place(database, search, module_index_prefix, app, tmp_path)
    index.ensure(place.world.dataset.space)  # so that each process has the same steps
    place.asking.start()
    yield place
    place.asking.stop()
    app.retrieve_parts.searcher.pool.close()


@pytest.fixture
def nursery(
    database: Engine, opensearch_url: str, module_index_prefix: str, tmp_path: Path
) -> Iterator[Nursery]:
    nursery = Nursery(
        {
            "database": database.url.render_as_string(hide_password=False),
            "search": opensearch_url,
            "prefix": module_index_prefix,
            "content": str(tmp_path),
        }
    )
    yield nursery
    nursery.close()


class Way:
    """One kind of change, done again and again."""

    name: ClassVar[str]

    def __init__(self, place: Place, nursery: Nursery) -> None:
        self.place = place
        self.nursery = nursery
        self.version = 0

    def prepare(self) -> None:
        """Whatever must be there before, in both stores."""

    def change(self) -> Change:
        """The change, accepted and not yet ingested."""
        raise NotImplementedError

    def list_words(self) -> str:
        """Words of which queries find one before the change, after it and all the while."""
        return ""

    def send(self) -> Change:
        self.version += 1
        return self.place.put(self.name, self.version)

    def settle(self, change: Change) -> None:
        assert self.nursery.ingest(change)["code"] == 0


class Create(Way):
    name = "created"

    def prepare(self) -> None:
        if self.version:
            self.settle(self.place.delete(f"{self.name}{self.version}"))

    def change(self) -> Change:
        self.version += 1
        return self.place.put(f"{self.name}{self.version}", 1)


class Update(Way):
    name = "updated"

    def prepare(self) -> None:
        if not self.version:
            self.settle(self.send())

    def change(self) -> Change:
        return self.send()

    def list_words(self) -> str:
        return f"{self.name}v{self.version} {self.name}v{self.version + 1}"


class Delete(Way):
    name = "deleted"

    def prepare(self) -> None:
        self.settle(self.send())

    def change(self) -> Change:
        return self.place.delete(self.name)


class CutAnew(Way):
    """One document, cut to another size and back: as many chunks more, or fewer."""

    size: ClassVar[int]
    other: ClassVar[int]

    def prepare(self) -> None:
        if "cut" not in self.place.expected:
            self.settle(self.place.put_text("cut", 1))
        if self.place.world.dataset.chunking.size != self.other:
            self.settle(self.place.cut_anew(self.other))

    def change(self) -> Change:
        return self.place.cut_anew(self.size)

    def list_words(self) -> str:
        return "cutv1"


class CutSmaller(CutAnew):
    name, size, other = "cut smaller", 60, 120


class CutLarger(CutAnew):
    name, size, other = "cut larger", 120, 60


def test_a_process_that_is_killed_anywhere_loses_and_leaves_nothing(
    place: Place, nursery: Nursery, say: Callable[[str], None]
) -> None:
    ways = [Create, Update, Delete, CutSmaller, CutLarger]
    kills = {way.name: kill_everywhere(way(place, nursery)) for way in ways}
    killed = sum(at_steps + inside_bulks for at_steps, inside_bulks in kills.values())
    say(f"{killed} kills, at steps and inside bulks: {kills}")
    asking = place.asking
    say(f"{asking.asked} queries meanwhile, of which {len(asking.neither)} found neither text")
    assert killed >= KILLS
    assert asking.asked > killed
    assert asking.neither == []


def kill_everywhere(way: Way) -> tuple[int, int]:
    """Kills a way's process at its steps, every one in full, and inside its bulks.

    Returns how often at steps and how often inside bulks.
    """
    way.prepare()
    steps = way.nursery.ingest(way.change())["count"]
    chosen = range(steps) if IS_SOAK else [n * steps // FEW_STEPS for n in range(FEW_STEPS)]
    at_steps = inside = 0
    for at in chosen:
        end = kill(way, at)
        # Chunks that were cut so a moment ago are still there: fewer steps.
        assert end["killed"] or end["count"] <= at, f"step {at} of {steps}"
        at_steps += end["killed"]
    for _ in range(20 * INSIDE_BULKS):  # some bulks are over before the process dies
        inside += kill(way, None, inside_bulk=True)["killed"]
        if inside == INSIDE_BULKS:
            break
    return at_steps, inside


def kill(way: Way, at: int | None, *, inside_bulk: bool = False) -> Any:
    """Kills one process, delivers its change again, and returns how the first one ended."""
    way.prepare()
    way.place.asking.about(way.list_words())
    change = way.change()
    end = way.nursery.ingest(change, at, inside_bulk=inside_bulk)
    way.place.world.end_leases()
    assert way.nursery.ingest(change)["code"] == 0
    way.place.asking.about("")
    way.place.check()
    assert way.place.world.list_waiting() == []
    return end
