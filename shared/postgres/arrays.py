"""Many rows as one statement of parallel lists: the driver sends rows of an executemany singly."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, JSON, Dialect, Text, TypeDecorator, Uuid, bindparam, cast, func
from sqlalchemy.types import TypeEngine

ID: TypeEngine[Any] = Uuid(as_uuid=False)


class _Texts(TypeDecorator[Sequence[str | None]]):
    """A list of texts as JSON: in an array the driver would look at each of their characters."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str | None] | None, _dialect: Dialect) -> str:
        """Returns the list as it is sent."""
        return json.dumps(value, ensure_ascii=False)


def column(name: str, type_: TypeEngine[Any], sent_as: TypeEngine[Any]) -> Any:
    """Returns a column of rows that a parameter has as a list."""
    if isinstance(sent_as, Text):
        sent = cast(bindparam(name, type_=_Texts()), JSON)
        return cast(func.json_array_elements_text(sent), type_)
    return func.unnest(cast(bindparam(name, type_=ARRAY(sent_as)), ARRAY(type_)))


def one(name: str, type_: TypeEngine[Any]) -> Any:
    """Returns a column that has the same value, a parameter, in every row."""
    return cast(bindparam(name), type_)
