"""A way to search that is looked at, and that fails where a test wants it to."""

import threading
from collections.abc import Callable
from typing import Any

from shared.errors import IndexUnavailable
from shared.opensearch.client import EngineRefused


class Watched:
    """A `ChunkSearch` that counts its calls and does something else where it is told to."""

    def __init__(self, search: Any) -> None:
        self._search = search
        self.calls: list[str] = []
        self.instead: dict[str, Callable[[], Any]] = {}

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            self.calls.append(name)
            if name in self.instead:
                return self.instead[name]()
            return getattr(self._search, name)(*args, **more)

        return call


class InTurn:
    """A `ChunkSearch` of which one search ends only when another has."""

    def __init__(self, search: Any, first: str, then: str) -> None:
        self._search = search
        self._first = first
        self._then = then
        self._ended = threading.Event()

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            found = getattr(self._search, name)(*args, **more)
            if name == self._then:
                assert self._ended.wait(20)
            if name == self._first:
                self._ended.set()
            return found

        return call


def silence() -> None:
    raise IndexUnavailable


def refuse() -> None:
    raise EngineRefused(500, "search_phase_execution_exception")
