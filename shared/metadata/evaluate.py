"""What a condition means: the readable definition, over the same values that SQL sees."""

import operator
from collections.abc import Callable, Mapping
from typing import assert_never

from shared.metadata.conditions import (
    Compares,
    EqualsAny,
    Group,
    HasText,
    IsFilled,
    Joiner,
    Not,
    Place,
    Relation,
    Tree,
)
from shared.metadata.filter_values import FilterValues
from shared.metadata.grammar import Number, write_number

_HAS: Mapping[Place, Callable[[str, str], bool]] = {
    Place.ANYWHERE: operator.contains,
    Place.START: str.startswith,
    Place.END: str.endswith,
}
_COMPARE: Mapping[Relation, Callable[[Number, Number], bool]] = {
    Relation.GREATER: operator.gt,
    Relation.LESS: operator.lt,
    Relation.AT_LEAST: operator.ge,
    Relation.AT_MOST: operator.le,
}


def matches(tree: Tree, document: FilterValues) -> bool:
    """Tells whether a document matches. Of several values of a field, one that does is enough."""
    match tree:
        case Group(joiner, members):
            combine = all if joiner is Joiner.AND else any
            return combine(matches(member, document) for member in members)
        case Not(member):
            return not matches(member, document)
        case IsFilled(name):
            return name in document["filled"]
        case EqualsAny(name, values, numbers, booleans):
            return (
                any(value in values for value in document["values"].get(name, []))
                or any(number in numbers for number in document["numbers"].get(name, []))
                or any(boolean in booleans for boolean in document["booleans"].get(name, []))
            )
        case HasText(name, place, text):
            texts = map(_write, document["values"].get(name, []))
            return any(_HAS[place](stored, text) for stored in texts)
        case Compares(name, reading, relation, bound):
            return any(
                _COMPARE[relation](value, bound) for value in document[reading.value].get(name, [])
            )
        case _:
            assert_never(tree)


def _write(value: str | Number) -> str:
    return value if isinstance(value, str) else write_number(value)
