"""A Markdown file's own metadata: YAML between two lines of dashes, before its first line."""

import re
from dataclasses import dataclass

from shared.errors import DocumentRefused
from shared.files.decode import decode
from shared.files.media import Format, split_media_type
from shared.model import JsonObject

MOST_CHARACTERS = 64 * 1024
"""What is longer is no front matter; metadata may not be either."""

# A line of dashes before a blank line is a rule.
_BLOCK = re.compile(
    r"---[ \t]*\r?\n(?P<yaml>(?![ \t]*\r?\n)(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
_FIRST_LINE = re.compile(r"[^\s#:'\"-][^:\n]*:(\s|\Z)")


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

    A block that begins as YAML does and can't be read stays text.
    """
    block = _BLOCK.match(text, 0, MOST_CHARACTERS)
    if block is None:
        return FrontMatter({})
    from shared.files.yaml_fields import read_fields  # noqa: PLC0415 - most texts need no YAML

    try:
        fields = read_fields(block["yaml"])
    except ValueError as error:
        if not _FIRST_LINE.match(block["yaml"]):
            return FrontMatter({})  # a rule between two paragraphs
        return FrontMatter({}, 0, block.end(), str(error))
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
