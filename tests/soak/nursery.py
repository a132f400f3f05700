"""Ingest in processes that are killed: `python -m tests.soak.nursery`.

It imports everything once, then forks a child for each line on its standard input. The child takes
one change as the Lambda function does, with clients of its own, and sends itself SIGKILL where the
line says: before or after the n-th thing it does to a store, or a moment after a bulk was sent.
Each child's end is one line on standard output.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import event

from functions.ingest.parts import Parts
from functions.ingest.pipeline import ingest
from functions.reconcile.rechunk import cut_anew  # noqa: F401  imported once, for all children
from shared.analysis.analyzer import analyze
from shared.content.folder import FolderContentStore
from shared.errors import WinnowError
from shared.model import EmbeddingSpace, Vector
from shared.opensearch.client import SearchEngine
from shared.opensearch.client import connect as connect_search
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.engine import connect
from shared.queue.messages import read_change
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.objects import FakeObjects

BULK_SECONDS = 0.02
"""A bulk of the tests' size takes about so long."""


class Killer:
    """Counts what is done to the stores, and ends the process at one of the counts."""

    def __init__(self, at: int | None, inside_bulk: bool) -> None:
        self.at = at
        self.inside_bulk = inside_bulk
        self.count = 0

    def tick(self) -> None:
        if self.count == self.at and not self.inside_bulk:
            die()
        self.count += 1

    def around[T](self, call: Callable[[], T]) -> T:
        self.tick()
        result = call()
        self.tick()
        return result

    def bulk(self) -> None:
        """A bulk is about to be sent: maybe it is the last thing that is done."""
        if self.inside_bulk:
            moment = random.uniform(0, BULK_SECONDS)  # noqa: S311
            threading.Thread(target=lambda: (time.sleep(moment), die()), daemon=True).start()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Watched[T]:
    """Counts the calls of another object's methods."""

    def __init__(self, other: T, killer: Killer, names: Sequence[str]) -> None:
        self._other = other
        self._killer = killer
        self._names = names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._other, name)
        if name not in self._names:
            return found
        return lambda *args, **named: self._killer.around(lambda: found(*args, **named))


class WatchedSearch(SearchEngine):
    """Counts requests, and tells of bulks."""

    def __init__(self, other: SearchEngine, killer: Killer) -> None:
        self._other = other
        self._killer = killer

    def request(self, method: str, path: str, **more: Any) -> Any:
        if path.endswith("/_bulk"):
            self._killer.bulk()
        return self._killer.around(lambda: self._other.request(method, path, **more))


class CountedEmbedder(FakeEmbedder):
    def __init__(self, space: EmbeddingSpace, killer: Killer) -> None:
        super().__init__(space)
        self._killer = killer

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self._killer.around(lambda: super(CountedEmbedder, self).embed_passages(texts))


def build(order: Mapping[str, Any], killer: Killer) -> Parts:
    engine = connect(order["database"], timeout=30)
    event.listen(engine, "commit", lambda _: killer.tick())
    event.listen(
        engine, "after_cursor_execute", lambda *_: killer.tick() if order["statements"] else None
    )
    search = WatchedSearch(connect_search(order["search"], timeout=30), killer)
    content: Any = Watched(FolderContentStore(Path(order["content"])), killer, ("get", "delete"))
    return Parts(
        engine=engine,
        index=OpenSearchChunkIndex(search, order["prefix"]),
        content=content,
        embedder_for=lambda space: CountedEmbedder(space, killer),
        objects=FakeObjects(),
        max_bytes=1_000_000,
    )


def work(order: Mapping[str, Any]) -> int:
    """Takes one change; the exit code is 0 if it is done, 3 if it could not be."""
    killer = Killer(order["at"], order["inside_bulk"])
    parts = build(order, killer)
    try:
        ingest(read_change(order["change"]), parts)
    except WinnowError as error:
        print(json.dumps({"error": str(error)}), file=sys.stderr)  # noqa: T201
        return 3
    os.write(order["pipe"], str(killer.count).encode())
    return 0


def main() -> None:
    """Forks a child a line, one after the other."""
    analyze("loads what is loaded late")
    for line in sys.stdin:
        order = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os._exit(work(order | {"pipe": writer}))
        os.close(writer)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reader) as said:
            count = said.read()
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        answer = {
            "killed": killed,
            "code": None if killed else os.waitstatus_to_exitcode(status),
            "count": int(count) if count else None,
        }
        print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
