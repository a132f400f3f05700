"""A way to search that is looked at, and that fails where a test wants it to."""

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


def silence() -> None:
    raise IndexUnavailable


def refuse() -> None:
    raise EngineRefused(500, "search_phase_execution_exception")
