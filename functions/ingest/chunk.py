"""Cuts a document into the passages that are embedded and found."""

from collections.abc import Sequence

from functions.ingest.cut import cut
from functions.ingest.document import ParsedDocument
from functions.ingest.sections import Section, split_sections
from functions.ingest.tokens import count_tokens
from shared.model import Chunking, Passage, Span

_PATH_SEPARATOR = " > "


def chunk(document: ParsedDocument, chunking: Chunking) -> list[Passage]:
    """Returns a document's passages in order, by the strategy `headings`; positions count from 1.

    What always holds:

    - a passage's text is exactly the document's text at its span, without white space at its ends;
    - the spans together cover every character that is not white space: a heading line is part of
      its section's first passage;
    - every passage of a section has the path of headings that leads to it, outside its span;
    - no passage reaches from one section into another, overlap included;
    - heading path and text together have at most `chunking.size` tokens;
    - starts strictly rise, and the same input gives the same passages.

    Takes time linear in the text.
    """
    pieces = (
        (heading, span)
        for section in split_sections(document)
        for heading in [write_path(section.path, chunking.size // 2)]
        for span in _cut_section(document.text, section, heading, chunking)
    )
    return [
        Passage(
            text=document.text[span.start : span.end], position=position, span=span, heading=heading
        )
        for position, (heading, span) in enumerate(pieces, start=1)
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


def _cut_section(text: str, section: Section, heading: str, chunking: Chunking) -> Sequence[Span]:
    budget = chunking.size - count_tokens(heading)
    overlap = min(chunking.overlap, budget // 2)
    words = text[section.start : section.end]
    return [
        Span(section.start + span.start, section.start + span.end)
        for span in cut(words, budget, overlap, section.body - section.start)
    ]
