"""A document's text as a format's reader finds it, piece by piece: the one place that bounds it."""

import re

from functions.ingest.document import Heading, ParsedDocument
from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused
from shared.model import Span

_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # what fonts without a table of characters give
_LINE_END = re.compile("\r\n?")
_NEXT_PARAGRAPH = "\n\n"
_NEXT_LINE = "\n"


class Draft:
    """Collects paragraphs, lines, headings and pages."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._pieces: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[int] = []
        self._left_out: dict[str, None] = {}

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def add_paragraph(self, text: str) -> None:
        """Adds a text after a blank line; a blank one is none."""
        self._add(text, _NEXT_PARAGRAPH)

    def add_line(self, text: str) -> None:
        """Adds a text on the next line, as rows and items have it; a blank one is none."""
        self._add(text, _NEXT_LINE)

    def add_heading(self, level: int, text: str) -> None:
        """Adds a heading on a line of its own."""
        start = self._add(" ".join(text.split()), _NEXT_PARAGRAPH)
        if start is not None:
            title = self._pieces[-1]
            self._headings.append(Heading(level, title, Span(start, self._length)))

    def begin_section(self, level: int) -> None:
        """Ends the section before, where the next one has no heading of its own."""
        self._headings.append(Heading(level, "", Span(self._length, self._length)))

    def begin_page(self) -> None:
        """Begins the next page; it may stay empty."""
        self._pages.append(self._length)

    def leave_out(self, what: str) -> None:
        """Notes what is not read, in words."""
        self._left_out[_clean(what)] = None

    def finish(self, empty: str, title: str | None = None) -> ParsedDocument:
        """Returns the document.

        Args:
            empty: the reason to give where there is no text.
            title: what the document calls itself.

        Raises:
            DocumentRefused: `no_text`.
        """
        if not self._pieces:
            raise DocumentRefused("no_text", empty)
        return ParsedDocument(
            text="".join(self._pieces),
            headings=self._headings,
            pages=self._pages,
            title=_clean(" ".join((title or "").split())) or None,
            left_out=list(self._left_out),
        )

    def _add(self, text: str, separator: str) -> int | None:
        text = _clean(text)
        if not text:
            return None
        if self._length:
            self._pieces.append(separator)
            self._length += len(separator)
        start = self._length
        self._pieces.append(text)
        self._length += len(text)
        if self._length > self.options.most_expanded:
            raise DocumentRefused(
                "expands_too_far",
                f"The file holds more than {self.options.most_expanded} characters of text.",
            )
        return start


def _clean(text: str) -> str:
    return _LINE_END.sub("\n", _NO_TEXT.sub("", text)).strip()
