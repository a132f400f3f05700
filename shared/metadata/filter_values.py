"""The normalised copy of a document's metadata that filters are evaluated over.

It is written in the same statement as the metadata, by `filter_values` alone, so every reading of a
value (number, instant, emptiness) happens once, here, and a query parses no text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from shared.errors import join_pointer
from shared.metadata.grammar import (
    Number,
    is_blank,
    normalise_text,
    read_instant,
    read_number,
)
from shared.metadata.problems import Problems


class FilterValues(TypedDict):
    """What filters see of one document: a JSON object.

    A field without values of a kind is not in it. A list is its elements, and only text, numbers
    and booleans are values; names and texts are in NFC. Each kind maps names to lists, so that one
    containment (`@>`) asks whether a field has a value.
    """

    filled: list[str]
    """The fields that are not empty."""
    values: dict[str, list[str | Number]]
    """Texts and numbers, each of its own JSON type."""
    booleans: dict[str, list[bool]]
    """Booleans."""
    numbers: dict[str, list[Number]]
    """Numbers, and what numeric texts write."""
    instants: dict[str, list[int]]
    """What numbers and texts write as a time, in UTC microseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtins:
    """The fields that every document has. They filter like any other; dates are epoch seconds.

    Attributes:
        uploader: the name of the API key.
        upload_date: with a time zone, as `last_update_date`.
        source: where the document came from, if that is known.
    """

    document_name: str
    uploader: str | None
    upload_date: datetime
    last_update_date: datetime
    source: str | None

    def list_fields(self) -> dict[str, Any]:
        """Returns the fields as metadata."""
        return {
            "document_name": self.document_name,
            "uploader": self.uploader,
            "upload_date": self.upload_date.timestamp(),
            "last_update_date": self.last_update_date.timestamp(),
            "source": self.source,
        }


MOST_BYTES = 64 * 1024
MOST_FIELDS = 256
LONGEST_NAME = 255
MOST_LEVELS = 16
"""A field's value is level 1, what a list or an object in it holds level 2."""

BUILTIN_NAMES = frozenset(Builtins.__dataclass_fields__)


def filter_values(metadata: Mapping[str, Any] | None, builtins: Builtins) -> FilterValues:
    """Returns what filters see of a document. Takes any JSON and never fails.

    Args:
        metadata: as the user sent it.
        builtins: what the document has by itself; these win over user fields of the same name.
    """
    return read_fields({**(metadata or {}), **builtins.list_fields()})


def read_fields(fields: Mapping[str, Any]) -> FilterValues:
    """Returns what filters see of these fields; where two names are one in NFC, the last counts."""
    by_name = {normalise_text(name): value for name, value in fields.items()}
    elements = {name: _list_elements(value) for name, value in by_name.items()}
    return {
        "filled": [name for name, value in by_name.items() if _is_filled(value)],
        "values": _read(elements, _read_value),
        "booleans": _read(elements, lambda element: element if isinstance(element, bool) else None),
        "numbers": _read(elements, read_number),
        "instants": _read(elements, read_instant),
    }


def _list_elements(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _read[T](
    elements: Mapping[str, Sequence[Any]], read: Callable[[Any], T | None]
) -> dict[str, list[T]]:
    readings = {
        name: [reading for reading in map(read, those) if reading is not None]
        for name, those in elements.items()
    }
    return {name: those for name, those in readings.items() if those}


def _read_value(element: Any) -> str | Number | None:
    return normalise_text(element) if isinstance(element, str) else read_number(element)


def _is_filled(value: Any) -> bool:
    match value:
        case None:
            return False
        case str():
            return not is_blank(value)
        case Mapping() | list() | tuple():
            return len(value) > 0
        case _:
            return True


def validate_metadata(metadata: Any, pointer: str) -> None:
    """Refuses what is no object of at most 256 fields and 64 KB, as compact UTF-8 JSON.

    Args:
        metadata: as parsed from JSON; None is no metadata.
        pointer: the JSON pointer of the metadata in its request.

    Raises:
        InvalidRequest: with every problem found.
    """
    problems = Problems()
    if isinstance(metadata, Mapping):
        if len(metadata) > MOST_FIELDS:
            problems.add(pointer, f"has {len(metadata)} fields, more than {MOST_FIELDS}")
        _check_names(list(metadata), pointer, problems)
        for name, value in metadata.items():
            _check_value(value, join_pointer(pointer, name), problems)
    elif metadata is not None:
        problems.add(pointer, "must be an object")
    problems.raise_any()
    _check_size(metadata, pointer, problems)
    problems.raise_any()


def _check_names(names: Sequence[str], pointer: str, problems: Problems) -> None:
    seen: set[str] = set()
    for name in names:
        place, compared = join_pointer(pointer, name), normalise_text(name)
        if not 1 <= len(name) <= LONGEST_NAME:
            problems.add(place, f"the name must have 1 to {LONGEST_NAME} characters")
        if compared in BUILTIN_NAMES:
            problems.add(place, "is a built-in field")
        if compared in seen:
            problems.add(place, "is the same name as another one, in another Unicode form")
        seen.add(compared)


def _check_value(value: Any, pointer: str, problems: Problems, level: int = 1) -> None:
    if level > MOST_LEVELS:
        problems.add(pointer, f"is nested deeper than {MOST_LEVELS} levels")
        return
    match value:
        case None | str() | bool():
            return
        case Mapping():
            for key, member in value.items():
                _check_value(member, join_pointer(pointer, key), problems, level + 1)
        case list():
            for position, member in enumerate(value):
                _check_value(member, join_pointer(pointer, position), problems, level + 1)
        case _ if read_number(value) is None:
            problems.add(
                pointer, "must be text, a finite number, a boolean, null, a list or an object"
            )


def _check_size(metadata: Any, pointer: str, problems: Problems) -> None:
    written = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
    size = len(written.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        problems.add(pointer, f"takes {size:,} bytes as JSON, more than {MOST_BYTES:,}")
