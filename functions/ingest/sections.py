"""Splits a document at its headings into sections, each with its path of headings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from functions.ingest.document import Heading, ParsedDocument

_WORD = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text up to the next one; chunks never reach over its borders.

    Attributes:
        path: the titles from the outermost heading to its own; empty before the first heading.
        start: the first character of its own heading line, or of the bodiless headings above it.
        body: the first character after its heading lines; `end` if nothing follows them.
        end: where the next section starts.
    """

    path: Sequence[str]
    start: int
    body: int
    end: int


def split_sections(document: ParsedDocument) -> Iterator[Section]:
    """Yields the sections in order; together they hold all that is not white space.

    A heading line is part of its section's text. One without a body goes with the deeper heading
    that follows it, so that no heading stands alone while something under it follows; else it is a
    section by itself.
    """
    text, headings = document.text, document.headings
    first = headings[0].span.start if headings else len(text)
    if _has_words(text, document.start, first):
        yield Section((), document.start, document.start, first)
    ancestors: list[Heading] = []
    start: int | None = None
    for heading, below in zip_longest(headings, headings[1:]):
        ancestors = [*(h for h in ancestors if h.level < heading.level), heading]
        start = heading.span.start if start is None else start
        end = below.span.start if below else len(text)
        has_body = _has_words(text, heading.span.end, end)
        if has_body or below is None or below.level <= heading.level:
            path = [h.title for h in ancestors if h.title]
            yield Section(path, start, heading.span.end if has_body else end, end)
            start = None


def _has_words(text: str, start: int, end: int) -> bool:
    return _WORD.search(text, start, end) is not None
