"""Metadata fields: which types a value fits, which it tells by itself, and fields that move."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from shared.errors import InvalidRequest, join_pointer
from shared.metadata.filter_values import BUILTIN_NAMES, LONGEST_NAME
from shared.metadata.grammar import (
    is_blank,
    normalise_text,
    read_boolean,
    read_instant,
    read_number,
)
from shared.metadata.problems import Problems
from shared.model import JsonObject


class FieldType(StrEnum):
    """What a field's values are, as filters read them."""

    STRING = "string"
    NUMBER = "number"
    TIME = "time"
    BOOLEAN = "boolean"
    LIST = "list"


type Moves = Mapping[str, str | None]
"""Fields that change their name, and those that go (None), by their names in NFC."""


@dataclass(frozen=True, slots=True)
class Field:
    """A metadata field of a dataset.

    Attributes:
        name: in NFC.
        type: string while no value that was seen tells another one.
        declared: whether a user said the type; only then it refuses values.
        values: how many documents have the field; null is a value that fits every type.
        misfits: how many of these values do not fit the type.
    """

    name: str
    type: FieldType
    declared: bool
    values: int = 0
    misfits: int = 0

    def summarize(self) -> str:
        """Returns it in words, such as `inferred: number, 1 of 6 values do not fit`."""
        words = f"{'declared' if self.declared else 'inferred'}: {self.type}"
        misfits = f", {self.misfits} of {self.values} values do not fit" if self.misfits else ""
        return words + misfits


BUILTIN_TYPES: Mapping[str, FieldType] = {
    "document_name": FieldType.STRING,
    "uploader": FieldType.STRING,
    "upload_date": FieldType.TIME,
    "last_update_date": FieldType.TIME,
    "source": FieldType.STRING,
}
"""The fields that every document has by itself."""


def fits(kind: FieldType, value: Any) -> bool:
    """Tells whether filters read a value as this type; null never conflicts.

    So numeric text is a number, numbers and numeric text are times, and their texts are booleans.
    """
    if value is None:
        return True
    match kind:
        case FieldType.STRING:
            return isinstance(value, str)
        case FieldType.NUMBER:
            return read_number(value) is not None
        case FieldType.TIME:
            return read_instant(value) is not None
        case FieldType.BOOLEAN:
            return read_boolean(value) is not None
        case FieldType.LIST:
            return isinstance(value, list | tuple)
        case _:
            assert_never(kind)


def infer(value: Any) -> FieldType | None:
    """Returns the type that a value tells by itself; null, blank text and objects tell none.

    Text that writes a date is a time, which JSON has no other way to say. Text that writes a number
    or a boolean is a string: `007` is a code.
    """
    match value:
        case bool():
            return FieldType.BOOLEAN
        case int() | float():
            return FieldType.NUMBER
        case list() | tuple():
            return FieldType.LIST
        case str() if not is_blank(value):
            is_time = read_number(value) is None and read_instant(value) is not None
            return FieldType.TIME if is_time else FieldType.STRING
        case _:
            return None


def check_name(name: str, pointer: str) -> str:
    """Returns a field's name in NFC; raises `InvalidRequest` for one that no field can have."""
    name = normalise_text(name)
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidRequest.at(pointer, f"the name must have 1 to {LONGEST_NAME} characters")
    if name in BUILTIN_NAMES:
        raise InvalidRequest.at(pointer, "is a built-in field")
    return name


def check_types(
    metadata: JsonObject | None, declared: Mapping[str, FieldType], pointer: str
) -> None:
    """Refuses values that do not fit the type that their field is declared to have.

    Args:
        metadata: as it was sent.
        declared: by names in NFC.
        pointer: the JSON pointer of the metadata in its request.

    Raises:
        InvalidRequest: with every such value.
    """
    problems = Problems()
    for name, value in (metadata or {}).items():
        kind = declared.get(normalise_text(name))
        if kind is not None and not fits(kind, value):
            detail = f"does not fit the type that the field is declared to have: {kind}"
            problems.add(join_pointer(pointer, name), detail)
    problems.raise_any()


def move_fields(metadata: JsonObject, moves: Moves) -> JsonObject:
    """Returns metadata under the names that fields move to, without the fields that go.

    A value that has the new name already stays, and the one of the old name goes.
    """
    stays = {n: value for n, value in metadata.items() if normalise_text(n) not in moves}
    taken = {normalise_text(name) for name in stays}
    moved = {
        target: value
        for name, value in metadata.items()
        if (target := moves.get(normalise_text(name))) is not None and target not in taken
    }
    return moved | stays


def is_same(one: Any, other: Any) -> bool:
    """Tells whether two JSON values are equal; true is not 1, though Python thinks so."""
    match one, other:
        case (Mapping(), Mapping()):
            return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
        case (list(), list()):
            return len(one) == len(other) and all(map(is_same, one, other))
        case _:
            return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


COUNTS = ("documents", *(f"fit_{kind}" for kind in FieldType))
"""What is counted of a field: documents that have it, and values that fit each type."""


def count_changes(pairs: Iterable[tuple[JsonObject, JsonObject]]) -> list[dict[str, Any]]:
    """Returns what writes change in the counts of fields, by name.

    The counts do not depend on a field's type, so that writers who meet a field at once need not
    agree on it, and declaring one tells at once how many values do not fit.

    Args:
        pairs: a document's metadata before and after each write.
    """
    counts: dict[str, Counter[str]] = {}
    types: dict[str, FieldType | None] = {}
    for before, after in pairs:
        for name, value in _list_changed(after, before):
            counts.setdefault(name, Counter()).update(_count(value))
            types[name] = types.get(name) or infer(value)
        for name, value in _list_changed(before, after):
            counts.setdefault(name, Counter()).subtract(_count(value))
    return [
        {"name": name, "type": types.get(name)} | {each: found[each] for each in COUNTS}
        for name, found in sorted(counts.items())
        if any(found.values())
    ]


def _list_changed(fields: JsonObject, others: JsonObject) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        # A move leaves most values the objects that they were.
        if name not in others or others[name] is not value:
            yield normalise_text(name), value


def _count(value: Any) -> Iterator[str]:
    yield "documents"
    yield from (f"fit_{kind}" for kind in FieldType if fits(kind, value))
