"""Translates a condition tree into SQL over the `filter_values` column.

Names and values travel as bound parameters only: inside JSON, inside a path as JSON writes them, or
as text arguments of functions.
No expression is ever NULL, so a negation is the exact complement of its member.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from sqlalchemy import ColumnElement, Text, and_, any_, exists, false, func, literal, not_, or_
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
from shared.postgres.tables import pick_kind

_MOST_LOOKUPS = 32
"""More values than this are one hashed membership test, which no index answers.

An index answers a few look-ups at once, but a scan tries them one by one on every row.
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

    Equality and `not empty` ask one kind of values, for which there is an index.

    Args:
        tree: what parsing made.
        column: a JSONB column that holds `FilterValues`, every kind of them.
    """
    match tree:
        case Group(joiner, members):
            combine = and_ if joiner is Joiner.AND else or_
            return combine(*(to_sql(member, column) for member in members))
        case Not(member):
            return not_(to_sql(member, column))
        case IsFilled(name):
            return pick_kind(column, "filled").bool_op("@>")(literal([name], JSONB))
        case EqualsAny():
            return _translate_equality(tree, column)
        case HasText(name, place, text):
            return _has_text(column, name, _HAS[place], text)
        case Compares(name, reading, relation, bound):
            values, bounds = _find(column, reading, name), literal({"bound": bound}, JSONB)
            path = literal(_PATHS[relation], JSONPATH)
            return func.coalesce(func.jsonb_path_exists(values, path, bounds), false())
        case _:
            assert_never(tree)


def _translate_equality(wanted: EqualsAny, column: ColumnElement[Any]) -> ColumnElement[bool]:
    kinds = {
        "values": wanted.values,
        "numbers": wanted.numbers,
        "booleans": wanted.booleans,
    }
    tests = [_has_any(column, kind, wanted.name, each) for kind, each in kinds.items() if each]
    return or_(*tests) if tests else false()


def _has_any(
    column: ColumnElement[Any], kind: str, name: str, values: Sequence[Any]
) -> ColumnElement[bool]:
    if len(values) <= _MOST_LOOKUPS:
        return pick_kind(column, kind).bool_op("@?")(literal(_write_path(name, values), JSONPATH))
    stored = func.jsonb_array_elements(_find(column, kind, name), type_=JSONB).column_valued()
    return exists().where(stored == any_(literal(list(values), ARRAY(JSONB))))


def _write_path(name: str, values: Sequence[Any]) -> str:
    """Returns what asks a kind of values for any of these.

    What JSON writes is a name or a value in a path too, whatever text it is.
    """
    wanted = " || ".join(f"@ == {json.dumps(value)}" for value in values)
    return f"$.{json.dumps(name)}[*] ? ({wanted})"


def _has_text(
    column: ColumnElement[Any], name: str, has: _TextTest, text: str
) -> ColumnElement[bool]:
    stored = func.jsonb_array_elements_text(_find(column, "values", name), type_=Text)
    return exists().where(
        has(stored.column_valued().collate("C"), literal(text, Text).collate("C"))
    )


def _find(column: ColumnElement[Any], kind: str, name: str) -> ColumnElement[Any]:
    """The list of a field's values of one kind; NULL where there is none."""
    return func.jsonb_extract_path(column, kind, name)
