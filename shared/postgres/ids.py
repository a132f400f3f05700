"""Ids as callers send them, and many ids as one parameter."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Text,
    Uuid,
    bindparam,
    cast,
    func,
    literal_column,
)


def as_id(sent: str) -> str | None:
    """Returns an id in the form that the database has; None for a text that can be no id."""
    try:
        return str(UUID(sent))
    except ValueError:
        return None


def is_among(column: Column[Any], name: str) -> ColumnElement[bool]:
    """Returns the condition that a column is one of the ids in a parameter of `join_ids`.

    Many ids go as one text: the driver takes as long over each value of an array as the server does
    over the whole statement.
    """
    sent = cast(bindparam(name), Text)
    return column == func.any(
        cast(func.string_to_array(sent, literal_column("','")), ARRAY(Uuid(as_uuid=False)))
    )


def join_ids(ids: Iterable[str]) -> str:
    """Returns ids as one parameter."""
    return ",".join(ids)
