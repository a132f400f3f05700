"""The ingest process is killed at every step and inside its bulks, then the change is delivered
again: nothing is lost, nothing is left over, nothing is there twice, and whoever asks meanwhile
always finds the old text or the new one.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.rechunk import cut_anew
from shared.content.folder import FolderContentStore
from shared.model import Change, Chunking
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.datasets import change_dataset
from shared.postgres.engine import transaction
from shared.queue.messages import write_change
from shared.settings import DEFAULT_TENANT
from tests.artifacts import ROOT
from tests.fakes.queue import FakeChangeQueue
from tests.integration.app import App, build
from tests.integration.functions.ingest.world import World
from tests.soak.sizes import IS_SOAK, choose

KILLS = choose(40, 240)
CHUNKS = 40
PAUSE = 0.05


class Nursery:
    """Processes that ingest one change each, and are killed on the way."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.nursery"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ingest(self, change: Change, at: int | None = None, *, inside_bulk: bool = False) -> Any:
        """Returns how a process ended that took a change."""
        order = self._order | {
            "change": write_change(change),
            "at": at,
            "inside_bulk": inside_bulk,
            "statements": True,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Place:
    """One dataset in both real stores, of documents whose chunks say which version they are of."""

    def __init__(
        self, engine: Engine, search: SearchEngine, prefix: str, app: App, content: Path
    ) -> None:
        self.world = World(
            engine,
            lambda _: OpenSearchChunkIndex(search, prefix),
            FolderContentStore(content),
        )
        self.app = app
        builder = OpenSearchIndexBuilder(search, prefix)
        self.parts = Parts(
            engine=engine, index=self.world.index, builder=builder, queue=FakeChangeQueue()
        )
        self.expected: dict[str, list[str]] = {}
        self.asking = Asking(self)

    def put(self, name: str, version: int) -> Change:
        """Sends a version: a chunk that stays, some that are new, and as many fewer."""
        texts = [f"{name} stays", *(f"{name}v{version} part {n}" for n in range(CHUNKS))]
        self.expected[name] = texts
        change = self.world.put(name, *texts)
        assert change is not None
        return change

    def put_text(self, name: str, version: int) -> Change:
        """Sends a version that our own chunker cuts."""
        text = " ".join(f"{name}v{version} word{n}." for n in range(200))
        self.expected[name] = [text]
        change = self.world.put_bytes(name, text.encode(), "text/plain")
        assert change is not None
        return change

    def delete(self, name: str) -> Change:
        self.expected[name] = []
        change = self.world.delete(name)
        assert change is not None
        return change

    def cut_anew(self, size: int) -> Change:
        with transaction(self.world.engine) as connection:
            values: dict[str, Any] = {"chunking": asdict(Chunking(size=size, overlap=0))}
            self.world.dataset = change_dataset(
                connection, DEFAULT_TENANT, self.world.dataset.id, values
            )
        assert cut_anew(self.world.engine, FakeChangeQueue(), self.world.dataset.id) == 1
        (change,) = self.world.list_waiting()
        return change

    def check(self) -> None:
        """Nothing is lost, left over, or there twice: without any repair."""
        for name, texts in self.expected.items():
            assert " ".join(self.world.live_texts(name)) == " ".join(texts)
        listed = self.world.index.list_chunks(self.world.dataset.space, None, None, 10_000)
        kept = self.world.rows("SELECT id::text, index_version FROM chunks WHERE index_version > 0")
        assert {each.chunk_id: each.version for each in listed} == dict(kept)
        assert sorted(dict(kept)) == self.world.live_ids()
        assert reconcile(self.parts, repairs=False)[0].sum().differing == 0
        assert self.world.counts() == self.world.recount()


class Asking:
    """Asks all the while for the words of two versions of a document."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._words = ""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.asked = 0
        self.neither: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def about(self, words: str) -> None:
        """From now on these words are asked for; one of them is there. Empty: nothing is asked."""
        with self._lock:
            self._words = words

    def _run(self) -> None:
        while not self._over.wait(PAUSE):
            with self._lock:  # held while it asks, so that nobody changes what is true of it
                if self._words:
                    self._ask(self._words)

    def _ask(self, words: str) -> None:
        found = self._place.app.retrieve(
            self._place.world.dataset.id,
            words,
            search_method="full_text_search",
            query_vector=None,
            top_k=5,
        )["records"]
        self.asked += 1
        if not found:
            self.neither.append(words)


@pytest.fixture
def place(
    database: Engine, search: SearchEngine, module_index_prefix: str, tmp_path: Path
) -> Iterator[Place]:
    index = OpenSearchChunkIndex(search, module_index_prefix)
    found = OpenSearchChunkSearch(search, module_index_prefix)
    app = build(database, index, found, FolderContentStore(tmp_path), threads=4)
    place = Place(database, search, module_index_prefix, app, tmp_path)
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
    """One kind of change, done again and again to a document of its own."""

    def __init__(self, place: Place, nursery: Nursery, name: str) -> None:
        self.place = place
        self.nursery = nursery
        self.name = name
        self.version = 0

    def prepare(self) -> None:
        """Whatever must be there before, in both stores."""
        raise NotImplementedError

    def change(self) -> Change:
        """The change, accepted and not yet ingested."""
        raise NotImplementedError

    def send(self, put: Callable[[str, int], Change]) -> Change:
        self.version += 1
        return put(self.name, self.version)

    def settle(self, change: Change) -> None:
        assert self.nursery.ingest(change)["code"] == 0

    def ask(self) -> None:
        """Has the old words asked for, and the new ones."""
        old, new = (f"{self.name}v{n}" for n in (self.version, self.version + 1))
        self.place.asking.about(f"{old} {new}")


class Create(Way):
    def prepare(self) -> None:
        self.name = f"{self.name.split('x')[0]}x{self.version}"

    def change(self) -> Change:
        return self.send(self.place.put)

    def ask(self) -> None:
        self.place.asking.about("")


class Update(Way):
    def prepare(self) -> None:
        if not self.version:
            self.settle(self.send(self.place.put))

    def change(self) -> Change:
        return self.send(self.place.put)


class Delete(Way):
    def prepare(self) -> None:
        self.settle(self.send(self.place.put))

    def change(self) -> Change:
        return self.place.delete(self.name)

    def ask(self) -> None:
        self.place.asking.about("")


class CutAnew(Way):
    def prepare(self) -> None:
        if not self.version:
            self.settle(self.send(self.place.put_text))
            self.sizes = cycle([60, 120])

    def change(self) -> Change:
        return self.place.cut_anew(next(self.sizes))

    def ask(self) -> None:
        self.place.asking.about(f"{self.name}v{self.version}")


def test_a_process_that_is_killed_anywhere_loses_and_leaves_nothing(
    place: Place, nursery: Nursery, say: Callable[[str], None]
) -> None:
    ways = [
        Create(place, nursery, "created"),
        Update(place, nursery, "updated"),
        Delete(place, nursery, "deleted"),
        CutAnew(place, nursery, "cut"),
    ]
    kills = {
        (type(way).__name__, where): count
        for way in ways
        for where, count in kill_everywhere(way, KILLS // len(ways)).items()
    }
    say(f"{sum(kills.values())} kills, {place.asking.asked} queries meanwhile: {kills}")
    assert place.asking.neither == []
    assert place.asking.asked > 0
    assert sum(kills.values()) >= KILLS
    assert not IS_SOAK or sum(kills.values()) >= 200


def kill_everywhere(way: Way, most: int) -> dict[str, int]:
    """Kills a way's process at each step, or at evenly chosen ones, and inside its bulks."""
    way.prepare()
    steps = way.nursery.ingest(way.change())["count"]
    inside = max(1, most // 5)
    at_steps = most - inside
    chosen = [n * steps // at_steps for n in range(at_steps)]
    killed = {"at a step": 0, "inside a bulk": 0}
    for at in chosen:
        killed["at a step"] += kill(way, at, inside_bulk=False)
    tries = 0
    while killed["inside a bulk"] < inside and tries < 10 * inside:
        killed["inside a bulk"] += kill(way, None, inside_bulk=True)
        tries += 1
    return killed


def kill(way: Way, at: int | None, *, inside_bulk: bool) -> int:
    """Kills one process, delivers its change again, and tells whether it was killed."""
    way.prepare()
    way.ask()
    change = way.change()
    end = way.nursery.ingest(change, at, inside_bulk=inside_bulk)
    way.place.world.end_leases()
    again = way.nursery.ingest(change)
    assert again["code"] == 0, again
    way.place.asking.about("")
    way.place.check()
    assert way.place.world.list_waiting() == []
    return int(end["killed"])
