"""A metadata filter in words: as people would say it, and as `winnow search --where` reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.metadata.grammar import read_number, write_number
from shared.metadata.operators import Operator
from shared.metadata.tokens import write_text

Filter = Mapping[str, Any]


def describe_filter(filtering: Filter) -> str:
    """Returns the conditions of a `metadata_filtering` body on one line, inner groups in brackets.

    Args:
        filtering: of a request; `inputs` are shown after the conditions.
    """
    words = _join(filtering)
    inputs = [f"{name} = {_value(value)}" for name, value in filtering.get("inputs", {}).items()]
    return f"{words}; inputs {', '.join(inputs)}" if inputs else words


def _join(group: Filter) -> str:
    members: Sequence[Filter] = group["conditions"]
    if not _is_not(group):
        word = (group.get("logical_operator") or "and").lower()
        return f" {word} ".join(_describe(member) for member in members)
    [member] = members
    return f"not ({_join(member) if 'conditions' in member else _describe(member)})"


def _describe(member: Filter) -> str:
    if "conditions" in member:
        return _join(member) if _is_not(member) else f"({_join(member)})"
    operator = member["comparison_operator"]
    words = [write_text(member["name"]), operator]
    takes_none = operator in {Operator.EMPTY, Operator.NOT_EMPTY}
    return " ".join(words if takes_none else [*words, _value(member["value"])])


def _is_not(group: Filter) -> bool:
    return (group.get("logical_operator") or "and").lower() == "not"


def _value(value: Any) -> str:
    match value:
        case list():
            return f"[{', '.join(_value(each) for each in value)}]"
        case bool():
            return str(value).lower()
        case str():
            return write_text(value)
    number = read_number(value)
    return str(value) if number is None else write_number(number)
