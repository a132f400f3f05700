"""YAML as the metadata that it writes: values have the types of JSON."""

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from shared.errors import InvalidRequest
from shared.model import JsonObject
from shared.text import check_text

_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_BROKEN = re.compile(r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]{1,3})?")
_MOST_DIGITS = 18  # of a number that is whole in every reader
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def read_fields(source: str) -> JsonObject:
    """Returns the fields that a YAML text writes.

    Values are read as YAML 1.2's core schema has them: `no` and dates are text, as is a number with
    a leading zero. Aliases are refused, for a few of them write terabytes.

    Raises:
        ValueError: in words, with the line where there is one.
    """
    try:
        # Nodes alone: what YAML 1.1 makes of `no`, `12:30` or a tag is not wanted.
        root = yaml.compose(source, Loader=yaml.CBaseLoader)
        fields = {} if root is None else _read(root, set())
        check_text(fields)  # which escapes may write
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise ValueError(f"{line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error).split("\n", maxsplit=1)[0]) from error
    except RecursionError as error:
        raise ValueError("it nests too deep") from error
    except InvalidRequest as error:
        raise ValueError(str(error)) from error
    if not isinstance(fields, dict):
        raise ValueError("it is no list of names with values")  # noqa: TRY004 - of the text
    return fields


def _read(node: yaml.Node, seen: set[int]) -> Any:
    if id(node) in seen:
        raise ValueError("aliases (*name) are not read")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return [_read(each, seen) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        return _read_mapping(node, seen)
    return node.value if node.style else _read_plain(node.value)


def _read_mapping(node: yaml.MappingNode, seen: set[int]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ValueError("a name is a list or an object")  # noqa: TRY004 - of the text
        if key.value in fields:
            raise ValueError(f"the name {key.value!r} stands twice")
        fields[key.value] = _read(value, seen)
    return fields


def _read_plain(written: str) -> Any:
    if written in _WORDS:
        return _WORDS[written]
    if _WHOLE.fullmatch(written) and len(written) <= _MOST_DIGITS:
        return int(written)
    if _BROKEN.fullmatch(written) and math.isfinite(number := float(written)):
        return number
    return written
