"""Text from outside: NUL and lone surrogates are no text, and are refused by this alone."""

from collections.abc import Iterator
from typing import Any

from shared.errors import InvalidRequest, join_pointer


def check_text(value: Any, pointer: str = "") -> None:
    """Raises `InvalidRequest` at a text, key or value, that holds NUL or a lone surrogate."""
    for place, text in _texts(value, pointer):
        if "\0" in text:
            raise InvalidRequest.at(place, "holds a NUL character")
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise InvalidRequest.at(place, "holds a lone surrogate, which is no text")


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    waiting = [(pointer, value)]
    while waiting:
        place, each = waiting.pop()
        if isinstance(each, str):
            yield place, each
        elif isinstance(each, dict):
            yield from ((place, key) for key in each)
            waiting.extend((join_pointer(place, key), inner) for key, inner in each.items())
        elif isinstance(each, list):
            waiting.extend((f"{place}/{n}", inner) for n, inner in enumerate(each))
