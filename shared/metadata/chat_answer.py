"""A chat model's answer, read out of the words around it. Used whole or not at all."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from shared.errors import InvalidRequest
from shared.text import check_text

MOST_CHARACTERS = 50_000
MOST_LEVELS = 16
_WRAPPERS = ("metadata_map", "conditions")
_NAMES = ("metadata_field_name", "name")

_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_BRACKET = re.compile(r"[\[{]")
_LIKE_JSON = re.compile(r"""\{\s*["}]|\[\s*[\[{"\]]""")
# A text without an end is one too: else it would be looked at anew from each quote in it.
_STRING_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])')


class AnswerUnreadable(ValueError):
    """The answer can't be read; the message says why."""


def read_answer(text: str) -> list[Any]:
    """Returns the conditions that an answer lists, each as the model wrote it.

    Words, a fence or the model's thoughts may stand around the JSON. The conditions are a list in
    `metadata_map` or `conditions`, or a list or a condition alone; commas may trail.

    Raises:
        AnswerUnreadable: there is no such JSON, it is not whole, or there are two that differ.
    """
    text = text[thoughts.end() :] if (thoughts := _THOUGHTS.match(text)) else text
    if len(text) > MOST_CHARACTERS:
        raise AnswerUnreadable(f"the answer has more than {MOST_CHARACTERS:,} characters")
    found = [each for value in _find_values(text) if (each := _list_conditions(value)) is not None]
    if not found:
        raise AnswerUnreadable("the answer holds no conditions in JSON")
    if any(each != found[0] for each in found):
        raise AnswerUnreadable("the answer holds two lists of conditions that differ")
    if _is_deeper(found[0], MOST_LEVELS):
        raise AnswerUnreadable(f"the answer is nested deeper than {MOST_LEVELS} levels")
    try:
        check_text(found[0])
    except InvalidRequest as error:
        raise AnswerUnreadable(f"the answer {error.problems[0].detail}") from error
    return found[0]


def _find_values(text: str) -> Iterator[Any]:
    while bracket := _BRACKET.search(text):
        text = text[bracket.start() :]
        # Words may hold brackets, but JSON that breaks off must not be used in part.
        if not _LIKE_JSON.match(text):
            text = text[1:]
            continue
        value, text = _decode(text)
        yield value


def _decode(text: str) -> tuple[Any, str]:
    """Returns the JSON value that the text begins with, and what follows."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return _decode_without_last_commas(text)
    return value, text[end:]


def _decode_without_last_commas(text: str) -> tuple[Any, str]:
    text = _STRING_OR_LAST_COMMA.sub(lambda found: found[1] or "", text)
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise AnswerUnreadable("the answer holds JSON that is not whole") from error
    return value, text[end:]


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _list_conditions(value: Any) -> list[Any] | None:
    match value:
        case dict():
            wrapped = [value[key] for key in _WRAPPERS if key in value]
            if not wrapped:
                return [value] if any(name in value for name in _NAMES) else None
            return _as_list(wrapped[0])
        case [dict() as alone] if any(key in alone for key in _WRAPPERS):
            return _list_conditions(alone)
        case list() if all(isinstance(each, dict) for each in value):
            return value
        case _:
            return None


def _is_deeper(value: Any, levels: int) -> bool:
    members = [value]
    for _ in range(levels):
        members = [inner for each in members for inner in _list_members(each)]
    return bool(members)


def _list_members(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()


def _as_list(value: Any) -> list[Any] | None:
    alone = [value] if isinstance(value, dict) else None
    return value if isinstance(value, list) else alone


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_constant=_read_float)
