"""Finds the questions of a text whose parts are questions with their answers."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from functions.ingest.document import Heading, ParsedDocument
from shared.model import Span

LEVEL = 7
"""Below every heading that a format has."""

_LONGEST = 300  # characters of a question that has no label

_LINE = re.compile(r"[^\n]+\n?")
# Blanks are taken possessively, so that no line takes quadratic time.
_MARKS = r"\s*+(?:[-*+>]\s++)?[*_]*+(?:\d{1,3}(?:[.)]\s++|[、．]\s*+))?[*_]*+"
# "Q:", "Q1.", "Question 3)", "问：", and so the rows of a table with a column "question".
_LABEL = re.compile(
    rf"{_MARKS}(?:questions?|q|问题?|問題?|提问)\s*+(?:\d{{1,4}}\s*+)?"
    r"(?:[:：、]|[.)](?=\s))[*_]*",
    re.IGNORECASE,
)
# One sentence: "Because. Really?" asks nothing.
_QUESTION = re.compile(
    rf"{_MARKS}(?P<title>(?:(?![.!]\s|[。！])[^\n]){{1,{_LONGEST}}}[?？])[*_”」』\"')）]*\s*"
)
_AROUND = " \t\n*_"


def find_questions(document: ParsedDocument) -> Sequence[Heading]:
    """Returns the questions of a document that are no headings anyway, as headings.

    Lines with a label ("Q:", "Question 2.", "问：") are questions. Only where there is none, lines
    that end with a question mark and begin a paragraph are.
    """
    lines = list(_list_lines(document))
    labelled = [
        _make_heading(line, line.text[label.end() :])
        for line in lines
        if (label := _LABEL.match(line.text))
    ]
    return labelled or [
        _make_heading(line, question["title"])
        for line in lines
        if line.begins_paragraph and len(line.text) <= 2 * _LONGEST
        if (question := _QUESTION.fullmatch(line.text))
    ]


class _Line(NamedTuple):
    start: int
    text: str
    begins_paragraph: bool


def _list_lines(document: ParsedDocument) -> Iterator[_Line]:
    """Yields the lines that are neither blank nor part of a heading."""
    headings = document.headings
    starts = [heading.span.start for heading in headings]
    done = -1
    for line in _LINE.finditer(document.text, document.start):
        above = bisect_right(starts, line.start()) - 1
        is_heading = above >= 0 and line.start() < headings[above].span.end
        if is_heading or line[0].isspace():
            continue
        yield _Line(line.start(), line[0], begins_paragraph=line.start() != done)
        done = line.end()


def _make_heading(line: _Line, title: str) -> Heading:
    return Heading(LEVEL, title.strip(_AROUND), Span(line.start, line.start + len(line.text)))
