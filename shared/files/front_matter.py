"""A Markdown file's own metadata: YAML between two lines of dashes, before its first line."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from shared.errors import DocumentRefused
from shared.files.decode import decode
from shared.files.media import Format, split_media_type
from shared.model import JsonObject

MOST_CHARACTERS = 64 * 1024
"""What is longer is no front matter; metadata may not be either."""

# A line of dashes before a blank line is a rule.
_BLOCK = re.compile(
    r"---[ \t]*\r?\n(?![ \t]*\r?\n)(?P<yaml>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
_FIRST_LINE = re.compile(r"[^\s#:'\"-][^:\n]*:(\s|\Z)")
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_BROKEN = re.compile(r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]{1,3})?")
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands before a text.

    Attributes:
        fields: empty where there are none.
        start: where the text itself begins.
        end: where the block ends, also one that can't be read and is text therefore.
        problem: why it can't be read.
    """

    fields: JsonObject
    start: int = 0
    end: int = 0
    problem: str | None = None


def read_front_matter(text: str) -> FrontMatter:
    """Returns the front matter of a Markdown text.

    Values are read as YAML 1.2's core schema has them, whose types are those of JSON: `no` and
    dates are text, as is a number with a leading zero. Aliases are refused, for a few of them write
    terabytes. A block that begins as YAML does and can't be read stays text.
    """
    block = _BLOCK.match(text, 0, MOST_CHARACTERS)
    if block is None:
        return FrontMatter({})
    try:
        fields = _read_yaml(block["yaml"])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if not _FIRST_LINE.match(block["yaml"]):
            return FrontMatter({})  # a rule between two paragraphs
        return FrontMatter({}, 0, block.end(), _tell(error))
    return FrontMatter(fields, block.end(), block.end())


def read_own_metadata(data: bytes, media_type: str) -> JsonObject:
    """Returns the metadata that a file has in itself; none in what is no Markdown, or no text."""
    format_, charset = split_media_type(media_type)
    if format_ is not Format.MARKDOWN:
        return {}
    try:
        return read_front_matter(decode(data, charset).text).fields
    except DocumentRefused:  # which says more of it when it is parsed
        return {}


def _read_yaml(source: str) -> JsonObject:
    # Nodes alone: what YAML 1.1 makes of `no`, `12:30` or a tag is not wanted.
    root = yaml.compose(source, Loader=yaml.CBaseLoader)
    fields = {} if root is None else _read(root, set())
    if not isinstance(fields, dict):
        raise ValueError("it is no list of names with values")  # noqa: TRY004 - of the file
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
            raise ValueError("a name is a list or an object")  # noqa: TRY004 - of the file
        if key.value in fields:
            raise ValueError(f"the name {key.value!r} stands twice")
        fields[key.value] = _read(value, seen)
    return fields


def _read_plain(written: str) -> Any:
    if written in _WORDS:
        return _WORDS[written]
    if _WHOLE.fullmatch(written) and len(written) < 20:  # noqa: PLR2004 - digits of 64 bits
        return int(written)
    if _BROKEN.fullmatch(written) and math.isfinite(number := float(written)):
        return number
    return written


def _tell(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 2}: {error.problem}"
    return "it nests too deep" if isinstance(error, RecursionError) else str(error).split("\n")[0]
