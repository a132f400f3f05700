"""Checks how a dataset asks for its documents to be cut."""

from collections.abc import Iterator
from typing import Any

from shared.errors import InvalidRequest, Problem, join_pointer
from shared.model import Chunking

AVAILABLE_STRATEGIES = ("headings",)
LARGEST_SIZE = 4096
_FIELDS = ("strategy", "size", "overlap", "delimiter")


def check_chunking(body: Any, pointer: str = "/chunking") -> Chunking:
    """Returns the chunking that a request's JSON value asks for.

    Args:
        body: an object with any of `strategy`, `size` (1 to 4096 tokens) and `overlap` (0 to half
            the size); an overlap left out is the default, or half the size where that is less.
        pointer: where the value stands in the request.

    Raises:
        InvalidRequest: with a problem for each wrong field.
    """
    if not isinstance(body, dict):
        raise InvalidRequest.at(pointer, "must be an object")
    usual = Chunking()
    strategy, size = body.get("strategy", usual.strategy), body.get("size", usual.size)
    overlap = body.get("overlap", min(usual.overlap, size // 2) if _is_size(size) else 0)
    found = [*_find_unknown(body), *_find_problems(strategy, size, overlap, body.get("delimiter"))]
    if found:
        raise InvalidRequest(
            *(Problem(join_pointer(pointer, name), detail) for name, detail in found)
        )
    return Chunking(strategy, size, overlap)


def _find_unknown(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in body:
        if name not in _FIELDS:
            yield name, "unknown field"


def _find_problems(
    strategy: Any, size: Any, overlap: Any, delimiter: Any
) -> Iterator[tuple[str, str]]:
    if strategy not in AVAILABLE_STRATEGIES:
        yield "strategy", f"must be one of: {', '.join(AVAILABLE_STRATEGIES)}"
    if not _is_size(size):
        yield "size", f"must be a whole number of tokens from 1 to {LARGEST_SIZE}"
    if not _is_whole(overlap) or overlap < 0:
        yield "overlap", "must be a whole number of tokens, 0 or more"
    elif _is_size(size) and overlap > size // 2:
        yield "overlap", f"must be at most half of the size, {size // 2}"
    if delimiter is not None:
        yield "delimiter", "the strategy headings has no delimiter"


def _is_size(value: Any) -> bool:
    return _is_whole(value) and 1 <= value <= LARGEST_SIZE


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
