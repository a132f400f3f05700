"""What parsing makes of a file: one text, and where its headings and pages are."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from shared.model import Span


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading of a document.

    Attributes:
        level: 1 is the outermost.
        title: plain text on one line, without markup; may be empty.
        span: its whole lines in the document's text, markup included.
    """

    level: int
    title: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    r"""The text that spans point into, whatever the file's format was.

    Attributes:
        text: at least one character that is not white space; every line ends with "\n".
        start: where what is cut begins; only metadata stands before it.
        headings: in the order of the text; none in a format that has no headings.
        pages: where each page begins, rising, the first page's first; none in a format without.
        title: what the document calls itself, where that is no part of its text.
        encoding: how the bytes were written; None in a format that says so itself.
        guessed: nobody said so.
        left_out: what was not read, each in words.
    """

    text: str
    start: int = 0
    headings: Sequence[Heading] = ()
    pages: Sequence[int] = ()
    title: str | None = None
    encoding: str | None = None
    guessed: bool = False
    left_out: Sequence[str] = ()

    def find_page(self, position: int) -> int | None:
        """Returns the page, from 1, that a character is on; None in a format without pages."""
        return bisect_right(self.pages, position) or None
