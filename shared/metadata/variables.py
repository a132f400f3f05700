"""`{{name}}` in a condition's value, filled from the request's inputs in one pass."""

import re
from collections.abc import Mapping
from typing import Any

from shared.errors import InvalidRequest, join_pointer
from shared.metadata.grammar import WHITE_SPACE, read_number, write_number

# It can match in one way only, so that the time for a text without an end grows as the text does.
_PLACEHOLDER = re.compile(r"\{\{(\s*[^{}\s][^{}]*)\}\}")


def fill_variables(value: Any, inputs: Mapping[str, Any], pointer: str) -> Any:
    """Returns the value with every placeholder in its text, or in the texts of its list, filled.

    A text that is one placeholder alone becomes the variable's own value, of its own type; inside
    other text the value is written out, a list with ", " between its elements. What was filled in
    is never expanded again.

    Raises:
        InvalidRequest: an unknown name, or a value that cannot be written inside text.
    """
    match value:
        case str():
            return _fill_text(value, inputs, pointer)
        case list() | tuple():
            return [
                fill_variables(element, inputs, join_pointer(pointer, position))
                if isinstance(element, str)
                else element
                for position, element in enumerate(value)
            ]
        case _:
            return value


def fill_conditions(conditions: Any, inputs: Mapping[str, Any], pointer: str) -> Any:
    """Returns conditions as they were sent, in groups or not, with the placeholders filled.

    For whoever reads conditions of their own; `parse_filter` has found nothing wrong with these.
    """
    return [
        dict(member)
        | (
            {"conditions": fill_conditions(member["conditions"], inputs, pointer)}
            if "conditions" in member
            else {"value": fill_variables(member["value"], inputs, pointer)}
            if "value" in member
            else {}
        )
        for member in conditions
    ]


def _fill_text(text: str, inputs: Mapping[str, Any], pointer: str) -> Any:
    alone = _PLACEHOLDER.fullmatch(text)
    if alone:
        return _look_up(alone[1], inputs, pointer)
    return _PLACEHOLDER.sub(
        lambda found: _write_out(_look_up(found[1], inputs, pointer), found[1], pointer), text
    )


def _look_up(name: str, inputs: Mapping[str, Any], pointer: str) -> Any:
    name = name.strip(WHITE_SPACE)
    if name not in inputs:
        raise InvalidRequest.at(pointer, f'inputs has no variable "{name[:80]}"')
    return inputs[name]


def _write_out(value: Any, name: str, pointer: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ", ".join(_write_out(element, name, pointer) for element in value)
    number = read_number(value)
    if number is None:
        raise InvalidRequest.at(pointer, f'variable "{name[:80]}" cannot be written inside text')
    return write_number(number)
