"""A metadata filter in words, as people would say it."""

from collections.abc import Mapping
from typing import Any

Filter = Mapping[str, Any]


def describe_filter(filtering: Filter) -> str:
    """Returns the conditions of a `metadata_filtering` body on one line, inner groups in brackets.

    Args:
        filtering: of a request; `inputs` are shown after the conditions.
    """
    words = _join(filtering["conditions"], filtering.get("logical_operator") or "and")
    inputs = [f"{name} = {_value(value)}" for name, value in filtering.get("inputs", {}).items()]
    return f"{words}; inputs {', '.join(inputs)}" if inputs else words


def _join(members: list[Filter], operator: str) -> str:
    if operator.lower() == "not":
        return f"not ({_describe(members[0])})"
    return f" {operator.lower()} ".join(_describe(member) for member in members)


def _describe(member: Filter) -> str:
    if "conditions" in member:
        inner = _join(member["conditions"], member["logical_operator"])
        return inner if inner.startswith("not (") else f"({inner})"
    words = [member["name"], member["comparison_operator"]]
    return " ".join([*words, _value(member["value"])] if "value" in member else words)


def _value(value: Any) -> str:
    match value:
        case list():
            return f"[{', '.join(_value(each) for each in value)}]"
        case bool():
            return str(value).lower()
        case _:
            return str(value)
