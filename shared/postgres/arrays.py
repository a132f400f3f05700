"""Many rows as one statement of parallel arrays: the driver sends rows of an executemany singly."""

from typing import Any

from sqlalchemy import ARRAY, Uuid, bindparam, cast, func
from sqlalchemy.types import TypeEngine

ID: TypeEngine[Any] = Uuid(as_uuid=False)


def column(name: str, type_: TypeEngine[Any], sent_as: TypeEngine[Any]) -> Any:
    """Returns a column of rows that a parameter has as a list."""
    return func.unnest(cast(bindparam(name, type_=ARRAY(sent_as)), ARRAY(type_)))


def one(name: str, type_: TypeEngine[Any]) -> Any:
    """Returns a column that has the same value, a parameter, in every row."""
    return cast(bindparam(name), type_)
