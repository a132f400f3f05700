"""Ids as callers send them, and many ids as one parameter."""

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BindParameter,
    Column,
    ColumnElement,
    Text,
    Uuid,
    bindparam,
    cast,
    func,
    literal_column,
)

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def as_id(sent: str) -> str | None:
    """Returns an id in the form that the database has; None for a text that can be no id."""
    try:
        return str(UUID(sent))
    except ValueError:
        return None


def is_id(text: str) -> bool:
    """Tells whether a text is an id as the database writes it."""
    return _ID.fullmatch(text) is not None


def is_among(column: Column[Any], name: str) -> ColumnElement[bool]:
    """Returns the condition that a column is one of the ids in a parameter of `join_ids`.

    Many ids go as one text: the driver takes as long over each value of an array as the server does
    over the whole statement.
    """
    return _is_any(column, bindparam(name))


def is_one_of(column: Column[Any], ids: Iterable[str]) -> ColumnElement[bool]:
    """Returns the condition that a column is one of these ids, of any number.

    A parameter an id would be more than the protocol has room for, from 65,536 on.
    """
    return _is_any(column, bindparam(None, join_ids(ids)))


def _is_any(column: Column[Any], joined: BindParameter[Any]) -> ColumnElement[bool]:
    split = func.string_to_array(cast(joined, Text), literal_column("','"))
    return column == func.any(cast(split, ARRAY(Uuid(as_uuid=False))))


def join_ids(ids: Iterable[str]) -> str:
    """Returns ids as one parameter; texts that can be no id are left out: no row has them."""
    return ",".join(filter(is_id, ids))


def is_after(column: Column[Any], bound: str) -> ColumnElement[bool]:
    """Returns the condition that an id comes after a text in the order of texts, id or not."""
    if is_id(bound):
        return column > bound
    return cast(column, Text).collate("C") > bound  # no index has it, and hardly anybody asks
