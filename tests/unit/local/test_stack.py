import threading
from pathlib import Path

import pytest

from local import stack
from local.errors import EngineError
from local.progress import NoProgress


class Engine:
    """Starts when it is told to, fails when it is told to, and waits for its stop otherwise."""

    def __init__(self, url: str | None = None, error: Exception | None = None) -> None:
        self.url = url
        self.error = error
        self.stopped = threading.Event()

    def start(self) -> str:
        if self.error:
            raise self.error
        if self.url is None:
            assert self.stopped.wait(20)
            raise EngineError("stopped while it started")
        return self.url

    def stop(self) -> None:
        self.stopped.set()


def test_engines_start_at_once() -> None:
    both = threading.Barrier(2, timeout=20)

    class Together(Engine):
        def start(self) -> str:
            both.wait()
            return super().start()

    engines = {"A": Together("a://"), "B": Together("b://")}
    assert stack.start_all(engines, NoProgress()) == {"A": "a://", "B": "b://"}


@pytest.mark.parametrize("names", [("A", "B"), ("B", "A")])
def test_one_that_fails_stops_the_other(names: tuple[str, str]) -> None:
    by_name = {"A": Engine(), "B": Engine(error=EngineError("no memory"))}
    engines = {name: by_name[name] for name in names}
    with pytest.raises(EngineError, match="no memory"):
        stack.start_all(engines, NoProgress())
    assert by_name["A"].stopped.is_set()


def test_an_interrupt_stops_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "wait", interrupt)
    engines = {"A": Engine(), "B": Engine()}
    with pytest.raises(KeyboardInterrupt):
        stack.start_all(engines, NoProgress())
    assert all(engine.stopped.is_set() for engine in engines.values())


def test_given_servers_are_used_and_nothing_is_started(tmp_path: Path) -> None:
    with stack.start(
        tmp_path / "home", NoProgress(), database_url="d://", opensearch_url="o://"
    ) as running:
        assert (running.database_url, running.opensearch_url) == ("d://", "o://")
    assert not (tmp_path / "home").exists()
