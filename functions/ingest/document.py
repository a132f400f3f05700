"""What parsing makes of a file: one text, and where its headings stand."""

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


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    r"""The text that spans point into, whatever the file's format was.

    Attributes:
        text: at least one character that is not white space; every line ends with "\n".
        headings: in the order of the text; none in a format that has no headings.
    """

    text: str
    headings: Sequence[Heading] = ()

    @property
    def title(self) -> str | None:
        """The first heading of level 1, if there is one with words in it."""
        return next((h.title for h in self.headings if h.level == 1 and h.title), None)
