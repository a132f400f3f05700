import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.opensearch.refresh import SharedRefresh


class Turnstile:
    """A lock that counts those who came to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.came = threading.Semaphore(0)

    def __enter__(self) -> None:
        self.came.release()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_those_who_ask_during_a_refresh_share_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, turnstile = SharedRefresh(), Turnstile()
    monkeypatch.setattr(shared, "_turn", turnstile)
    first_runs, go_on = threading.Event(), threading.Event()
    runs: list[str] = []

    def first() -> None:
        first_runs.set()
        assert go_on.wait(10)
        runs.append("first")

    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(shared.run, first)]
        assert first_runs.wait(10)
        tasks += [pool.submit(shared.run, lambda: runs.append("shared")) for _ in range(5)]
        for _ in tasks:
            assert turnstile.came.acquire(timeout=10)
        go_on.set()
        for task in tasks:
            task.result(10)
    assert runs == ["first", "shared"]  # what began before they asked was no good to them


def test_one_after_the_other_each_runs() -> None:
    shared = SharedRefresh()
    runs: list[int] = []
    for number in range(3):
        shared.run(lambda number=number: runs.append(number))  # type: ignore[misc]
    assert runs == [0, 1, 2]


def test_a_refresh_that_fails_is_nobodys_refresh() -> None:
    shared = SharedRefresh()

    def fail() -> None:
        raise OSError

    with pytest.raises(OSError):
        shared.run(fail)
    runs: list[str] = []
    shared.run(lambda: runs.append("again"))
    assert runs == ["again"]
