"""A chat model's condition, held to the type of its field. Only automatic mode reads values so."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.metadata.fields import FieldType
from shared.metadata.grammar import (
    is_blank,
    read_boolean,
    read_instant,
    read_number,
    write_number,
)
from shared.metadata.leaf import list_values
from shared.metadata.operators import Operator

_FILLED = (Operator.EMPTY, Operator.NOT_EMPTY)
_EQUALITY = (Operator.IS, Operator.IS_NOT, Operator.IN, Operator.NOT_IN)
_BOUNDS = (Operator.GREATER, Operator.LESS, Operator.AT_LEAST, Operator.AT_MOST)
_TEXT = (Operator.CONTAINS, Operator.NOT_CONTAINS, Operator.START_WITH, Operator.END_WITH)

OPERATORS: Mapping[FieldType, Sequence[Operator]] = {
    FieldType.STRING: (*_EQUALITY, *_TEXT, *_FILLED),
    FieldType.NUMBER: (*_EQUALITY, *_BOUNDS, *_FILLED),
    FieldType.TIME: (Operator.BEFORE, Operator.AFTER, *_BOUNDS, *_EQUALITY, *_FILLED),
    FieldType.BOOLEAN: (*_EQUALITY, *_FILLED),
    FieldType.LIST: (*_EQUALITY, *_TEXT, *_FILLED),
}
"""What may be asked of a field of each type."""

# Instants are whole microseconds, so that a bound that counts is the next one that does not.
_MOMENTS = {
    Operator.GREATER: (Operator.AFTER, 0),
    Operator.LESS: (Operator.BEFORE, 0),
    Operator.AT_LEAST: (Operator.AFTER, -1),
    Operator.AT_MOST: (Operator.BEFORE, 1),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 80


class Unfit(ValueError):
    """The condition does not fit its field; the message says why."""


def coerce(type_: FieldType, operator: Operator, value: Any) -> tuple[Operator, Any]:
    """Returns the operator and the value as filters take them.

    A text that is a JSON list is that list. A list fits when each of its elements does.

    Raises:
        Unfit: the operator or the value does not fit.
    """
    if operator not in OPERATORS[type_]:
        raise Unfit(f"{operator} does not fit a field of type {type_}")
    if operator in _FILLED:
        return operator, None
    value = _read_list(value)
    if isinstance(value, list) or operator in {Operator.IN, Operator.NOT_IN}:
        return operator, _coerce_listed(type_, operator, value)
    fitting = _coerce_one(type_, value)
    if type_ is FieldType.TIME and operator in _MOMENTS:
        return _read_moment(operator, fitting)
    return operator, fitting


def _read_list(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip().startswith("["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _coerce_listed(type_: FieldType, operator: Operator, value: Any) -> list[Any]:
    if operator not in _EQUALITY:
        raise Unfit(f"{operator} takes no list")
    listed = [_coerce_one(type_, each) for each in list_values(operator, value)]
    if not listed:
        raise Unfit("the list is empty")
    return listed


def _coerce_one(type_: FieldType, value: Any) -> Any:
    if value is None or (isinstance(value, str) and is_blank(value)):
        raise Unfit("there is no value")
    fitting = _read(type_, value)
    if fitting is None:
        raise Unfit(f"{_show(value)} does not fit a field of type {type_}")
    return fitting


def _read(type_: FieldType, value: Any) -> Any:
    match type_:
        case FieldType.STRING:
            return _write(value)
        case FieldType.NUMBER:
            return read_number(value)
        case FieldType.TIME:
            return value if read_instant(value) is not None else None
        case FieldType.BOOLEAN:
            return read_boolean(value.lower() if isinstance(value, str) else value)
        case FieldType.LIST:
            return value if _write(value) is not None else None


def _write(value: Any) -> str | None:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
    number = read_number(value)
    return None if number is None else write_number(number)


def _read_moment(operator: Operator, value: Any) -> tuple[Operator, Any]:
    strict, shift = _MOMENTS[operator]
    instant = read_instant(value)
    if not shift or instant is None:
        return strict, value
    try:
        moment = _EPOCH + timedelta(microseconds=instant + shift)
    except OverflowError as error:
        raise Unfit(f"{_show(value)} is beyond the years 1 to 9999") from error
    return strict, moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _show(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"
