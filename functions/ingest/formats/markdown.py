"""Markdown: the text as it is, its headings as CommonMark defines them, and its front matter."""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from functions.ingest.document import Heading, ParsedDocument
from functions.ingest.formats.options import Options
from functions.ingest.formats.plain import read_text
from shared.errors import DocumentRefused
from shared.files.front_matter import read_front_matter
from shared.model import Span

CALLED = "Markdown"

_WORD = re.compile(r"\S")
_LONGEST_TITLE = 1000  # characters of markup that are read; no title is longer
_MARKUP = re.compile(r"[\\`*_\[\]<>!&\n]")  # a title with none of these is plain already
_BLOCKS = MarkdownIt("commonmark").disable("inline")  # only a heading's own words need inline rules
_INLINE = MarkdownIt("commonmark")


def read(data: bytes, charset: str | None, _options: Options) -> ParsedDocument:
    """Returns a text with its headings; its front matter is metadata, and not cut."""
    decoded = read_text(data, charset)
    text, front = decoded.text, read_front_matter(decoded.text)
    if _WORD.search(text, front.start) is None:
        raise DocumentRefused("no_text", "The file holds nothing but front matter.")
    title = front.fields.get("title")
    return ParsedDocument(
        text=text,
        start=front.start,
        headings=find_headings(text, front.end),
        title=title if isinstance(title, str) and title.strip() else None,
        encoding=decoded.encoding,
        guessed=decoded.guessed,
        left_out=[f"front matter as metadata: {front.problem}"] if front.problem else [],
    )


def find_headings(text: str, start: int = 0) -> Sequence[Heading]:
    r"""Returns the headings that structure a text whose lines end with "\n".

    ATX and setext headings count; lines that look like one inside fences, code, HTML, quotes or
    lists don't, nor does anything before `start`.
    """
    body = text[start:]
    lines = [0, *(newline.end() for newline in re.finditer("\n", body)), len(body)]
    references: dict[str, object] = {}
    tokens = _BLOCKS.parse(body, references)
    return tuple(
        Heading(
            int(opening.tag[1:]),
            _read_title(inline.content, references),
            Span(start + lines[opening.map[0]], start + lines[opening.map[1]]),
        )
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open" and opening.level == 0 and opening.map
    )


def _read_title(markup: str, references: dict[str, object]) -> str:
    words = markup[:_LONGEST_TITLE]
    if _MARKUP.search(words):
        words = "".join(map(_write_plain, _INLINE.parseInline(words, references)))
    return " ".join(words.split())


def _write_plain(token: Token) -> str:
    if token.children:  # the line itself, or an image with its alternative text
        return "".join(_write_plain(child) for child in token.children)
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    return "" if token.type == "html_inline" else token.content
