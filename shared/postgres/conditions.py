"""Translates a condition tree into SQL over the `filter_values` column.

Names and values travel as bound parameters only: inside JSON, or as text arguments of functions.
No expression is ever NULL, so a negation is the exact complement of its member.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    any_,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, JSONPATH

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

_MOST_LOOKUPS = 32
_MOST_NEGATED_LOOKUPS = 4
"""More values than this are one hashed membership test.

The index answers a few look-ups at once, but a scan tries them one by one on every row, and under a
negation it is always a scan.
"""

_PATHS: Mapping[Relation, str] = {
    Relation.GREATER: "$[*] ? (@ > $bound)",
    Relation.LESS: "$[*] ? (@ < $bound)",
    Relation.AT_LEAST: "$[*] ? (@ >= $bound)",
    Relation.AT_MOST: "$[*] ? (@ <= $bound)",
}

type _TextTest = Callable[[ColumnElement[str], ColumnElement[str]], ColumnElement[bool]]

_HAS: Mapping[Place, _TextTest] = {
    Place.ANYWHERE: lambda text, part: func.strpos(text, part) > 0,
    Place.START: lambda text, part: func.left(text, func.length(part)) == part,
    Place.END: lambda text, part: func.right(text, func.length(part)) == part,
}


def to_sql(tree: Tree, column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Returns the tree as an expression for WHERE.

    Equality and `not empty` are containments, which a GIN index with jsonb_path_ops answers.

    Args:
        tree: what parsing made.
        column: a JSONB column that holds `FilterValues` and is never NULL.
    """
    return _translate(tree, column, _MOST_LOOKUPS)


def _translate(tree: Tree, column: ColumnElement[Any], most_lookups: int) -> ColumnElement[bool]:
    match tree:
        case Group(joiner, members):
            combine = and_ if joiner is Joiner.AND else or_
            return combine(*(_translate(member, column, most_lookups) for member in members))
        case Not(member):
            return not_(_translate(member, column, _MOST_NEGATED_LOOKUPS))
        case IsFilled(name):
            return _contains(column, literal({"filled": [name]}, JSONB))
        case EqualsAny():
            return _translate_equality(tree, column, most_lookups)
        case HasText(name, place, text):
            return _has_text(column, name, _HAS[place], text)
        case Compares(name, reading, relation, bound):
            values, bounds = _find(column, reading, name), literal({"bound": bound}, JSONB)
            path = literal(_PATHS[relation], JSONPATH)
            return func.coalesce(func.jsonb_path_exists(values, path, bounds), false())
        case _:
            assert_never(tree)


def _translate_equality(
    wanted: EqualsAny, column: ColumnElement[Any], most_lookups: int
) -> ColumnElement[bool]:
    kinds = {
        "values": wanted.values,
        "numbers": wanted.numbers,
        "booleans": wanted.booleans,
    }
    keys = [{kind: {wanted.name: [value]}} for kind, values in kinds.items() for value in values]
    if not keys:
        return false()
    if len(keys) == 1:
        return _contains(column, literal(keys[0], JSONB))
    if len(keys) <= most_lookups:
        return _contains(column, any_(literal(keys, ARRAY(JSONB))))
    return or_(
        *(_has_any(column, kind, wanted.name, values) for kind, values in kinds.items() if values)
    )


def _has_any(
    column: ColumnElement[Any], kind: str, name: str, values: Sequence[Any]
) -> ColumnElement[bool]:
    stored = func.jsonb_array_elements(_find(column, kind, name), type_=JSONB).column_valued()
    return exists().where(stored == any_(literal(list(values), ARRAY(JSONB))))


def _has_text(
    column: ColumnElement[Any], name: str, has: _TextTest, text: str
) -> ColumnElement[bool]:
    stored = func.jsonb_array_elements_text(_find(column, "values", name), type_=Text)
    return exists().where(
        has(stored.column_valued().collate("C"), literal(text, Text).collate("C"))
    )


def _contains(column: ColumnElement[Any], key: Any) -> ColumnElement[bool]:
    return column.bool_op("@>")(key)


def _find(column: ColumnElement[Any], kind: str, name: str) -> ColumnElement[Any]:
    """The list of a field's values of one kind; NULL where there is none."""
    return func.jsonb_extract_path(column, kind, name)
