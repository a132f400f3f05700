"""Checks how a dataset asks for its documents to be cut, and shows it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from shared.errors import InvalidRequest, Problem, join_pointer
from shared.model import Chunking, JsonObject, Strategy

LARGEST_SIZE = 4096
LONGEST_DELIMITER = 100

_CUT = ("size", "overlap")
_FIELDS = dict.fromkeys(Strategy, ("strategy", *_CUT)) | {
    Strategy.GENERAL: ("strategy", *_CUT, "delimiter"),
    Strategy.WHOLE: ("strategy",),
}
"""What each strategy can be told."""


def check_chunking(body: Any, pointer: str = "/chunking") -> Chunking:
    """Returns the chunking that a request's JSON value asks for.

    Args:
        body: an object with any of `strategy`, `size` (1 to 4096 tokens) and `overlap` (0 to half
            the size; left out it is the default, or half the size where that is less), and for
            `general` a `delimiter`. `whole` has none of these.
        pointer: where the value stands in the request.

    Raises:
        InvalidRequest: with a problem for each wrong field.
    """
    if not isinstance(body, dict):
        raise InvalidRequest.at(pointer, "must be an object")
    usual = Chunking()
    strategy, size = body.get("strategy", usual.strategy), body.get("size", usual.size)
    overlap = body.get("overlap", min(usual.overlap, size // 2) if _is_size(size) else 0)
    found = [
        *_find_unfit(body, strategy),
        *_find_problems(strategy, size, overlap),
        *_find_delimiter_problem(body.get("delimiter")),
    ]
    if found:
        raise InvalidRequest(
            *(Problem(join_pointer(pointer, name), detail) for name, detail in found)
        )
    delimiter = body.get("delimiter")
    # Documents are cut with every line end written as "\n".
    delimiter = delimiter and delimiter.replace("\r\n", "\n").replace("\r", "\n")
    return Chunking(Strategy(strategy), size, overlap, delimiter)


def show_chunking(chunking: Chunking) -> JsonObject:
    """Returns a chunking as the API shows it and documents keep it: what its strategy heeds."""
    values = asdict(chunking)
    return {name: values[name] for name in _FIELDS[chunking.strategy] if values[name] is not None}


def _find_unfit(body: dict[str, Any], strategy: Any) -> Iterator[tuple[str, str]]:
    known = {name for fields in _FIELDS.values() for name in fields}
    for name, value in body.items():
        if name not in known:
            yield name, "unknown field"
        elif strategy in list(Strategy) and name not in _FIELDS[strategy] and value is not None:
            yield name, f"the strategy {strategy} has no {name}"


def _find_problems(strategy: Any, size: Any, overlap: Any) -> Iterator[tuple[str, str]]:
    if strategy not in list(Strategy):
        yield "strategy", f"must be one of: {', '.join(Strategy)}"
    if not _is_size(size):
        yield "size", f"must be a whole number of tokens from 1 to {LARGEST_SIZE}"
    if not _is_whole(overlap) or overlap < 0:
        yield "overlap", "must be a whole number of tokens, 0 or more"
    elif _is_size(size) and overlap > size // 2:
        yield "overlap", f"must be at most half of the size, {size // 2}"


def _find_delimiter_problem(delimiter: Any) -> Iterator[tuple[str, str]]:
    is_text = isinstance(delimiter, str) and 1 <= len(delimiter) <= LONGEST_DELIMITER
    if delimiter is not None and not is_text:
        yield "delimiter", f"must be a text of 1 to {LONGEST_DELIMITER} characters"


def _is_size(value: Any) -> bool:
    return _is_whole(value) and 1 <= value <= LARGEST_SIZE


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
