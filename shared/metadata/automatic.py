"""Automatic mode: the conditions that a chat model finds in a query, checked one by one."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shared.errors import InvalidRequest
from shared.metadata.chat_answer import read_answer
from shared.metadata.coerce import Unfit, coerce
from shared.metadata.fields import BUILTIN_TYPES, Field, FieldType
from shared.metadata.filter_values import LONGEST_NAME
from shared.metadata.grammar import normalise_text
from shared.metadata.operators import SPELLINGS, Operator
from shared.metadata.parse import parse_filter

type FieldTypes = Mapping[str, Sequence[FieldType]]
"""Fields by their names in NFC; one has several types where datasets do not agree on it."""

type Condition = Mapping[str, Any]
"""{"name", "comparison_operator", "value"}, as a request in manual mode has it."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an answer came to.

    Attributes:
        conditions: those that can be used.
        dropped: the others as the model wrote them, each with the reason.
    """

    conditions: Sequence[Condition]
    dropped: Sequence[tuple[Any, str]]


def gather_types(fields: Iterable[Field]) -> FieldTypes:
    """Returns the fields that conditions may be about: these, and the built-in ones."""
    types: dict[str, list[FieldType]] = {}
    for field in fields:
        known = types.setdefault(field.name, [])
        if field.type not in known:
            known.append(field.type)
    return types | {name: [type_] for name, type_ in BUILTIN_TYPES.items()}


def extract_conditions(answer: str, fields: FieldTypes) -> Extracted:
    """Reads a chat model's answer.

    Args:
        answer: the model's words.
        fields: those that it was shown; where one has several types, any of them will do.

    Raises:
        AnswerUnreadable: nothing of it can be used.
    """
    conditions: list[Condition] = []
    dropped: list[tuple[Any, str]] = []
    for written in read_answer(answer):
        try:
            condition = _read_condition(written, fields)
        except Unfit as unfit:
            dropped.append((written, str(unfit)))
            continue
        if condition not in conditions:
            conditions.append(condition)
    return Extracted(conditions, dropped)


def _read_condition(written: Any, fields: FieldTypes) -> Condition:
    if not isinstance(written, Mapping):
        raise Unfit("is no condition")
    name = written.get("metadata_field_name", written.get("name"))
    *others, last = _find_types(name, fields)
    operator = _read_operator(written.get("comparison_operator"))
    value = written.get("metadata_field_value", written.get("value"))
    for type_ in others:
        with suppress(Unfit):
            return _check(name, *coerce(type_, operator, value))
    return _check(name, *coerce(last, operator, value))


def _find_types(name: Any, fields: FieldTypes) -> Sequence[FieldType]:
    if not isinstance(name, str):
        raise Unfit("names no field")
    types = fields.get(normalise_text(name))
    if types is None:
        raise Unfit(f'there is no field "{name[:LONGEST_NAME]}"')
    return types


def _read_operator(spelling: Any) -> Operator:
    operator = SPELLINGS.get(spelling.strip().lower()) if isinstance(spelling, str) else None
    if operator is None:
        raise Unfit("the operator is not known")
    return operator


def _check(name: str, operator: Operator, value: Any) -> Condition:
    """Returns the condition, once manual mode would take it too."""
    condition: dict[str, Any] = {"name": name, "comparison_operator": operator.value}
    if value is not None:
        condition["value"] = value
    try:
        parse_filter(None, [condition], pointer="")
    except InvalidRequest as refusal:
        raise Unfit(refusal.problems[0].detail) from refusal
    return condition
