"""Ingest in processes that are killed: `python -m tests.soak.nursery`.

It imports everything once, then forks a child for each line on its standard input. The child takes
one change as the Lambda function does, with clients of its own, and sends itself SIGKILL where the
line says: before or after the n-th thing it does to a store, or a moment after it began to send a
bulk and before that was answered. Each child's end is one line on standard output.
"""

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import event

from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
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
"""A bulk of the tests' size takes about so long; one that is quicker is lived through."""


class Killer:
    """Counts what is done to the stores, and ends the process at one of the counts.

    Where there is none, the process ends inside a bulk, if it is to.
    """

    def __init__(self, at: int | None, inside_bulk: bool) -> None:
        self.at = at
        self.inside_bulk = inside_bulk
        self.count = 0

    def tick(self) -> None:
        if self.count == self.at:
            die()
        self.count += 1

    def around[T](self, call: Callable[[], T]) -> T:
        self.tick()
        result = call()
        self.tick()
        return result

    def around_bulk[T](self, call: Callable[[], T]) -> T:
        if not self.inside_bulk:
            return self.around(call)
        timer = threading.Timer(random.uniform(0, BULK_SECONDS), die)  # noqa: S311
        timer.start()
        result = call()
        timer.cancel()
        return result


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class CountedSearch(SearchEngine):
    def __init__(self, other: SearchEngine, killer: Killer) -> None:
        self._other = other
        self._killer = killer

    def request(self, method: str, path: str, **more: Any) -> Any:
        around = self._killer.around_bulk if path.endswith("/_bulk") else self._killer.around
        return around(lambda: self._other.request(method, path, **more))


class CountedEmbedder(FakeEmbedder):
    def __init__(self, space: EmbeddingSpace, killer: Killer) -> None:
        super().__init__(space)
        self._killer = killer

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self._killer.around(lambda: super(CountedEmbedder, self).embed_passages(texts))


class CountedContent(FolderContentStore):
    def __init__(self, folder: Path, killer: Killer) -> None:
        super().__init__(folder)
        self._killer = killer

    def get(self, key: str) -> bytes:
        return self._killer.around(lambda: super(CountedContent, self).get(key))

    def delete(self, key: str) -> None:
        self._killer.around(lambda: super(CountedContent, self).delete(key))


def build(order: Mapping[str, Any], killer: Killer) -> Parts:
    engine = connect(order["database"], timeout=30)
    event.listen(engine, "commit", lambda _: killer.tick())
    event.listen(engine, "after_cursor_execute", lambda *_: killer.tick())
    search = CountedSearch(connect_search(order["search"], timeout=30), killer)
    return Parts(
        engine=engine,
        index=OpenSearchChunkIndex(search, order["prefix"]),
        content=CountedContent(Path(order["content"]), killer),
        embedder_for=lambda space: CountedEmbedder(space, killer),
        objects=FakeObjects(),
        reader=FileReader(Options()),
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
