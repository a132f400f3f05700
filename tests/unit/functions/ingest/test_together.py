from typing import Any, cast

import pytest

from functions.ingest import together
from functions.ingest.together import Work, Written, run_together
from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace
from shared.ports import ChunkIndex

SPACE, OTHER = EmbeddingSpace("given", "a", 2), EmbeddingSpace("given", "b", 2)


class Index:
    """Counts its refreshes, and may fail at them."""

    def __init__(self, log: list[Any], failure: Exception | None = None) -> None:
        self.log = log
        self.failure = failure

    def refresh(self, space: EmbeddingSpace) -> None:
        self.log.append(space.model)
        if self.failure is not None:
            raise self.failure


def write(log: list[Any], name: str, index: Index, *spaces: EmbeddingSpace) -> Work[None]:
    """A work that stops once for each space."""
    for space in spaces:
        log.append(f"{name} writes")
        try:
            yield Written([cast("ChunkIndex", index)], space)
        except IndexUnavailable:
            log.append(f"{name} releases")
            raise
    log.append(f"{name} ends")


def test_works_that_stop_share_a_refresh() -> None:
    log: list[Any] = []
    index = Index(log)
    ends = run_together([write(log, "x", index, SPACE), write(log, "y", index, SPACE)])
    assert ends == [None, None]
    assert log == ["x writes", "y writes", "a", "x ends", "y ends"]


def test_each_space_and_each_index_is_refreshed() -> None:
    log: list[Any] = []
    one, two = Index(log), Index(log)
    works = [
        write(log, "x", one, SPACE, SPACE),
        write(log, "y", one, OTHER),
        write(log, "z", two, SPACE),
        write(log, "w", two),
    ]
    assert run_together(works) == [None] * 4
    assert [each for each in log if each in {"a", "b"}] == ["a", "b", "a", "a"]


def test_a_work_that_fails_keeps_no_other_from_its_end() -> None:
    log: list[Any] = []

    def fail() -> Work[None]:
        raise ZeroDivisionError
        yield

    ends = run_together([fail(), write(log, "x", Index(log), SPACE), fail()])
    assert [type(each) for each in ends] == [ZeroDivisionError, type(None), ZeroDivisionError]
    assert log == ["x writes", "a", "x ends"]


def test_a_refresh_that_fails_is_told_to_those_who_wait_for_it() -> None:
    log: list[Any] = []
    silent = Index(log, IndexUnavailable())
    ends = run_together([write(log, "x", silent, SPACE), write(log, "y", silent, SPACE)])
    assert [type(each) for each in ends] == [IndexUnavailable] * 2
    assert log == ["x writes", "y writes", "a", "x releases", "y releases"]


def test_who_waited_for_long_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[Any] = []
    times = iter(range(0, 1_000, int(together.PATIENCE_SECONDS) + 1))
    monkeypatch.setattr("functions.ingest.together.time.monotonic", lambda: next(times))
    index = Index(log)
    run_together([write(log, "x", index, SPACE), write(log, "y", index, SPACE)])
    assert log == ["x writes", "a", "x ends", "y writes", "a", "y ends"]
