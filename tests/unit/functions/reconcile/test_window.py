"""One page of both sides: PostgreSQL first, and never more than fits."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from functions.reconcile import window
from functions.reconcile.window import read_window
from shared.model import NO_VECTORS, EmbeddingSpace, ListedChunk
from shared.postgres.standings import Standing
from tests.artifacts import ROOT
from tests.fakes.chunks import InMemoryChunks

ENGINE: Any = None


class Sides(InMemoryChunks):
    """Both sides, as ids; tells in which order they were asked."""

    def __init__(self, known: str, held: str) -> None:
        super().__init__()
        self.known, self.held, self.asked = known, held, ""

    def list_standings(
        self, _: Any, _space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> Sequence[Standing]:
        self.asked += "p"
        ids = cut(self.known, after, until, limit)
        return [Standing(id_, "doc", "d", 9, 1, True, False) for id_ in ids]

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> list[ListedChunk]:
        del space
        self.asked += "i"
        return [ListedChunk(id_, "d", 9, 1) for id_ in cut(self.held, after, until, limit)]


def cut(ids: str, after: str | None, until: str | None, limit: int) -> list[str]:
    return [i for i in ids if (after or "") < i <= (until or "~")][:limit]


@pytest.mark.parametrize(
    ("known", "held", "windows"),
    [
        ("", "", [("", "", None)]),
        ("ab", "a", [("ab", "a", None)]),
        ("abc", "abc", [("abc", "abc", "c"), ("", "", None)]),
        ("abcdefg", "abcdefg", [("abc", "abc", "c"), ("def", "def", "f"), ("g", "g", None)]),
        ("adg", "", [("adg", "", "g"), ("", "", None)]),
        ("", "abcd", [("", "abc", "c"), ("", "d", None)]),
        ("gh", "abcd", [("", "abc", "c"), ("gh", "d", None)]),
        ("abcd", "dxyz", [("abc", "", "c"), ("d", "dxy", "y"), ("", "z", None)]),
        ("abz", "abcde", [("ab", "abc", "c"), ("z", "de", None)]),
    ],
)
def test_windows_cover_every_id_of_both_sides_once(
    monkeypatch: pytest.MonkeyPatch,
    known: str,
    held: str,
    windows: list[tuple[str, str, str | None]],
) -> None:
    sides = Sides(known, held)
    monkeypatch.setattr(window, "PAGE", 3)
    monkeypatch.setattr(window, "list_standings", sides.list_standings)
    monkeypatch.setattr(window, "read", unconnected)
    seen, after = [], None
    while True:
        found = read_window(ENGINE, sides, NO_VECTORS, after)
        ids = "".join(each.chunk_id for each in found.standings)
        seen.append((ids, "".join(each.chunk_id for each in found.listed), found.until))
        after = found.until
        if after is None:
            break
    assert seen == windows
    assert sides.asked == "pi" * len(windows)


@contextmanager
def unconnected(_: Any) -> Iterator[None]:
    yield


MILLION = """
import re
from contextlib import nullcontext
from pathlib import Path
from functions.reconcile import pipeline, window
from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import Place
from functions.reconcile.report import Report
from shared.model import NO_VECTORS, ListedChunk
from shared.postgres.standings import Standing
from tests.fakes.chunks import InMemoryChunks

def ids(after, limit):
    begin = 0 if after is None else int(after) + 1
    return [f"{n:036}" for n in range(begin, min(begin + limit, 1_000_000))]

class Endless(InMemoryChunks):
    def list_chunks(self, space, after, until, limit):
        return [ListedChunk(id_, "d", 9, 1) for id_ in ids(after, limit)]

def list_standings(connection, space, after, until, limit):
    return [Standing(id_, id_, "d", 9, 1, True, False) for id_ in ids(after, limit)]

window.list_standings = list_standings
window.read = lambda engine: nullcontext()
report = Report()
parts = Parts(engine=None, index=Endless(), builder=None, queue=None)
pipeline._compare(parts, Place(NO_VECTORS), report, lambda: True, lambda _: None, repairs=True)
print(report.datasets["d"].chunks, report.datasets["d"].indexed, report.datasets["d"].differing)
# Not getrusage: it has the memory of the process that started this one.
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) * 1024)
"""


def test_a_million_ids_on_both_sides_take_less_than_300_mb() -> None:
    done = subprocess.run(  # noqa: S603, our own code
        [sys.executable, "-c", MILLION], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts, bytes_ = done.stdout.splitlines()
    assert counts == "1000000 1000000 0"
    assert int(bytes_) < 300_000_000
