"""Cuts a document into the passages that are embedded and found."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from functions.ingest.cut import cut
from functions.ingest.delimiter import split_at
from functions.ingest.document import ParsedDocument
from functions.ingest.questions import find_questions
from functions.ingest.sections import split_sections
from functions.ingest.tokens import count_tokens
from shared.model import Chunking, Parent, Passage, Span, Strategy

_PATH_SEPARATOR = " > "
_WORD = re.compile(r"\S")

CHILDREN_A_PARENT = 4
"""How many times as many tokens a parent may have as what is searched of it."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Where a passage lies, with the headings that lead to it and what is returned for it."""

    span: Span
    heading: str = ""
    parent: Span | None = None


def chunk(document: ParsedDocument, chunking: Chunking) -> list[Passage]:
    """Returns a document's passages in order; positions count from 1.

    What always holds:

    - a passage's text is exactly the document's text at its span, without white space at its ends;
    - the spans together cover every character that is not white space, from where the document
      starts: a heading line is part of its section's first passage, a delimiter of what it ends;
    - every passage of a section has the path of headings that leads to it, outside its span;
    - no passage reaches over a border of its strategy, overlap included;
    - no overlap reaches over the border of a page, so that no passage of one page counts as of the
      page before;
    - heading path and text together have at most `chunking.size` tokens, but for `whole`;
    - starts strictly rise, and the same input gives the same passages.

    Takes time linear in the text.
    """
    text = document.text
    return [
        Passage(
            text=text[piece.span.start : piece.span.end],
            position=position,
            span=piece.span,
            heading=piece.heading,
            page=document.find_page(piece.span.start),
            parent=_take_parent(text, piece.parent),
        )
        for position, piece in enumerate(_CUT[chunking.strategy](document, chunking), start=1)
    ]


def write_path(titles: Sequence[str], most: int) -> str:
    """Returns titles as "A > B", in at most so many tokens.

    A path that is too long loses its outermost titles; a title that alone is too long is cut.
    """
    for outermost in range(len(titles)):
        path = _PATH_SEPARATOR.join(titles[outermost:])
        if count_tokens(path) <= most:
            return path
    if not titles or not most:
        return ""
    beginning = next(cut(titles[-1], most))
    return titles[-1][: beginning.end]


def _take_parent(text: str, span: Span | None) -> Parent | None:
    return None if span is None else Parent(text[span.start : span.end], span)


def _cut_by_headings(document: ParsedDocument, chunking: Chunking) -> Iterator[_Piece]:
    """Each section by itself."""
    for section in split_sections(document):
        heading = write_path(section.path, chunking.size // 2)
        budget = chunking.size - count_tokens(heading)
        overlap, within = min(chunking.overlap, budget // 2), Span(section.start, section.end)
        for span in cut(document.text, budget, overlap, section.body, within, document.pages):
            yield _Piece(span, heading)


def _cut_by_questions(document: ParsedDocument, chunking: Chunking) -> Iterator[_Piece]:
    """Each question with its answer: a question is a heading, the innermost there is."""
    headings = sorted(
        [*document.headings, *find_questions(document)], key=lambda each: each.span.start
    )
    yield from _cut_by_headings(replace(document, headings=headings), chunking)


def _cut_into_children(document: ParsedDocument, chunking: Chunking) -> Iterator[_Piece]:
    """Parents as sections are cut, without overlap; children out of each."""
    for section in split_sections(document):
        heading = write_path(section.path, chunking.size // 2)
        budget = chunking.size - count_tokens(heading)
        overlap, within = min(chunking.overlap, budget // 2), Span(section.start, section.end)
        most, body, pages = budget * CHILDREN_A_PARENT, section.body, document.pages
        for parent in cut(document.text, most, 0, body, within, pages):
            for span in cut(document.text, budget, overlap, body, parent, pages):
                yield _Piece(span, heading, parent)


def _cut_at_delimiters(document: ParsedDocument, chunking: Chunking) -> Iterator[_Piece]:
    """Each part between two delimiters by itself; without a delimiter the whole text."""
    for part in split_at(document.text, document.start, chunking.delimiter):
        size, overlap, pages = chunking.size, chunking.overlap, document.pages
        for span in cut(document.text, size, overlap, within=part, pages=pages):
            yield _Piece(span)


def _keep_whole(document: ParsedDocument, _chunking: Chunking) -> Iterator[_Piece]:
    first = _WORD.search(document.text, document.start)
    if first is not None:
        yield _Piece(Span(first.start(), len(document.text.rstrip())))


_CUT: dict[Strategy, Callable[[ParsedDocument, Chunking], Iterator[_Piece]]] = {
    Strategy.HEADINGS: _cut_by_headings,
    Strategy.QUESTION_ANSWER: _cut_by_questions,
    Strategy.PARENT_CHILD: _cut_into_children,
    Strategy.GENERAL: _cut_at_delimiters,
    Strategy.WHOLE: _keep_whole,
}
