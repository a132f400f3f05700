"""One condition: name, operator and value, read into a leaf of the tree or refused."""

from collections.abc import Sequence
from typing import Any

from shared.errors import InvalidRequest, join_pointer
from shared.metadata.conditions import (
    Compares,
    EqualsAny,
    HasText,
    IsFilled,
    Not,
    Place,
    Reading,
    Relation,
    Tree,
)
from shared.metadata.grammar import (
    WHITE_SPACE,
    Number,
    normalise_text,
    read_boolean,
    read_instant,
    read_number,
    write_number,
)
from shared.metadata.operators import NEGATIVE, Operator
from shared.metadata.problems import Problems

_PLACES = {
    Operator.CONTAINS: Place.ANYWHERE,
    Operator.NOT_CONTAINS: Place.ANYWHERE,
    Operator.START_WITH: Place.START,
    Operator.END_WITH: Place.END,
}
_NUMERIC = {
    Operator.GREATER: Relation.GREATER,
    Operator.LESS: Relation.LESS,
    Operator.AT_LEAST: Relation.AT_LEAST,
    Operator.AT_MOST: Relation.AT_MOST,
}
_TEMPORAL = {Operator.BEFORE: Relation.LESS, Operator.AFTER: Relation.GREATER}


def read_leaf(name: str, operator: Operator, value: Any, pointer: str) -> Tree:
    """Returns the tree of one condition; `empty` and `not empty` take no value and ignore one.

    Args:
        name: the field's name, not empty.
        operator: what is asked of the field.
        value: any JSON value.
        pointer: where the value stands.

    Raises:
        InvalidRequest: the value does not fit the operator; one problem for each wrong listed
            value.
    """
    # The operator stays the one that was sent, so that a refusal says its name.
    tree = _read_positive(normalise_text(name), operator, value, pointer)
    return Not(tree) if operator in NEGATIVE else tree


def _read_positive(name: str, operator: Operator, value: Any, pointer: str) -> Tree:
    """Returns a condition's tree, and of a negative operator that of its positive one."""
    if operator in {Operator.EMPTY, Operator.NOT_EMPTY}:
        filled = IsFilled(name)
        return filled if operator is Operator.NOT_EMPTY else Not(filled)
    if value is None:
        raise _refuse(name, operator, "needs a value; for a missing one there is empty", pointer)
    if operator in _PLACES:
        return HasText(name, _PLACES[operator], _read_text(name, operator, value, pointer))
    if operator in _NUMERIC:
        return _read_bound(name, operator, value, pointer)
    if operator in _TEMPORAL:
        return _read_moment(name, operator, value, pointer)
    return _read_equality(name, operator, value, pointer)


def list_values(operator: Operator, value: Any) -> Sequence[Any]:
    """Returns the values that an equality or a membership lists; other operators list none.

    A list is never split. For `in` and `not in` a text is split at commas, the pieces trimmed,
    blanks dropped.
    """
    match NEGATIVE.get(operator, operator), value:
        case Operator.IS | Operator.IN, list() | tuple():
            return value
        case Operator.IN, str():
            pieces = (piece.strip(WHITE_SPACE) for piece in value.split(","))
            return [piece for piece in pieces if piece]
        case Operator.IS | Operator.IN, _:
            return [value]
        case _:
            return []


def _read_equality(name: str, operator: Operator, value: Any, pointer: str) -> EqualsAny:
    is_list = isinstance(value, list | tuple)
    values: list[str | Number] = []
    numbers: list[Number] = []
    booleans: list[bool] = []
    problems = Problems()
    for position, wanted in enumerate(list_values(operator, value)):
        match wanted:
            case bool():
                booleans.append(wanted)
                values.append("true" if wanted else "false")
            case str():
                text = normalise_text(wanted)
                written = read_number(text)
                values += [text] if written is None else [text, written]
                booleans += [b for b in [read_boolean(text)] if b is not None]
            case _ if (number := read_number(wanted)) is not None:
                numbers.append(number)
            case _:
                place = join_pointer(pointer, position) if is_list else pointer
                detail = "compares with text, a finite number, a boolean or a list of these"
                problems.extend(_refuse(name, operator, detail, place).problems)
    problems.raise_any()
    return EqualsAny(name, _distinct(values), _distinct(numbers), _distinct(booleans))


def _distinct[T](items: Sequence[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def _read_text(name: str, operator: Operator, value: Any, pointer: str) -> str:
    number = None if isinstance(value, str) else read_number(value)
    text = value if number is None else write_number(number)
    if not isinstance(text, str) or not text:
        raise _refuse(name, operator, "needs text that is not empty", pointer)
    return normalise_text(text)


def _read_bound(name: str, operator: Operator, value: Any, pointer: str) -> Compares:
    number = read_number(value)
    if number is None:
        raise _refuse(name, operator, "needs a finite number", pointer)
    return Compares(name, Reading.NUMBERS, _NUMERIC[operator], number)


def _read_moment(name: str, operator: Operator, value: Any, pointer: str) -> Compares:
    instant = read_instant(value)
    if instant is None:
        detail = "needs a time: epoch seconds, YYYY-MM-DD or YYYY-MM-DDTHH:MM[:SS][Z or ±HH:MM]"
        raise _refuse(name, operator, detail, pointer)
    return Compares(name, Reading.INSTANTS, _TEMPORAL[operator], instant)


def _refuse(name: str, operator: Operator, detail: str, pointer: str) -> InvalidRequest:
    return InvalidRequest.at(pointer, f'field "{name[:80]}": {operator} {detail}')
