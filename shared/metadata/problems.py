"""Gathers what is wrong with a request, so that one answer names every place."""

from collections.abc import Iterable

from shared.errors import InvalidRequest, Problem

_MOST = 100
"""An answer names no more problems than this: reading stops there."""


class Problems:
    """The problems found so far; raised as one `InvalidRequest`, at once when they are too many."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, pointer: str, detail: str) -> None:
        """Notes one problem at a JSON pointer."""
        self.extend([Problem(pointer, detail)])

    def extend(self, problems: Iterable[Problem]) -> None:
        """Notes several problems."""
        self._found.extend(problems)
        if len(self._found) >= _MOST:
            raise InvalidRequest(*self._found[:_MOST])

    def raise_any(self) -> None:
        """Raises the problems, if there are any."""
        if self._found:
            raise InvalidRequest(*self._found)
