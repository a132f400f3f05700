"""Documents in both real stores, processes that ingest them, and somebody who asks meanwhile."""

import json
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.rechunk import cut_anew
from shared.content.folder import FolderContentStore
from shared.model import Change, Chunking
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.datasets import change_dataset
from shared.postgres.engine import transaction
from shared.queue.messages import write_change
from shared.settings import DEFAULT_TENANT
from tests.artifacts import ROOT
from tests.fakes.queue import FakeChangeQueue
from tests.integration.app import App
from tests.integration.functions.ingest.world import World

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
        if not any(word in each["content"] for each in found for word in words.split()):
            self.neither.append(words)
