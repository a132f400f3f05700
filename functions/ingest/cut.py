"""Cuts one text into overlapping pieces under a token budget, at the best places there are."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from functions.ingest.breaks import Breaks, TokenIndices, find_breaks
from functions.ingest.tokens import TokenSpans, find_tokens
from shared.model import Span

WINDOW = 200_000
"""Characters whose tokens and breaks are found at once: these take many times the text's memory."""

_MARGIN = 64  # tokens at a window's end that may look different with what comes after it
_NONE_AFTER = sys.maxsize
_NONE_BEFORE = 0


def cut(
    text: str,
    budget: int,
    overlap: int = 0,
    body: int = 0,
    within: Span | None = None,
    pages: Sequence[int] = (),
) -> Iterator[Span]:
    """Yields the spans of a text's pieces; together they hold all that is not white space.

    A piece ends with the first page that fills more than two fifths of the budget. Else it is as
    long as the budget allows, but ends with a paragraph where that fills more than half of it, else
    with a sentence, else with a word; inside a word only when the word alone is over the budget.
    The next piece starts at most `overlap` tokens before that end, at a sentence, else at a word,
    and on the page that the piece before ended on or a later one. Starts and ends strictly rise; no
    piece starts or ends with white space.

    Takes time linear in the text and memory for a window of it.

    Args:
        text: what is cut.
        budget: the most tokens of a piece, at least 1.
        overlap: the most tokens that a piece repeats of the one before; at most half the budget.
        body: the first character after the text's heading lines; no piece ends there, so that they
            stay with what follows.
        within: the part of the text that is cut; None = all of it.
        pages: where pages begin, rising.
    """
    begin, stop = (within.start, within.end) if within else (0, len(text))
    done, size = begin, WINDOW  # `done`: where the last piece ended; it began at `begin`
    while True:
        end = min(begin + size, stop)
        window = Span(begin, end)
        is_last = end == stop
        pieces = list(
            _cut_window(text, window, done, budget, overlap, body, pages, is_last=is_last)
        )
        yield from pieces
        if is_last:
            return
        if pieces:
            begin, done, size = pieces[-1].start, pieces[-1].end, WINDOW
        else:
            size *= 2  # much white space, or one piece alone is longer


def _cut_window(
    text: str,
    window: Span,
    done: int,
    budget: int,
    overlap: int,
    body: int,
    pages: Sequence[int],
    *,
    is_last: bool,
) -> Iterator[Span]:
    """Yields the pieces after `done`, where that of the window's first token ended; if it did.

    Tokens look at nothing before them, so those of a window that starts with one are those of the
    whole text.
    """
    words = text[window.start : window.end]
    tokens = find_tokens(words)
    total = len(tokens)
    start = 0
    end = int(np.searchsorted(tokens[:, 0], done - window.start))
    borders = pages[bisect_right(pages, window.start) : bisect_left(pages, window.end)]
    if is_last and not end and not borders and 0 < total <= budget:
        yield _span(window, tokens, 0, total)
        return
    first = int(np.searchsorted(tokens[:, 0], body - window.start))
    starts = (border - window.start for border in borders)
    breaks = _hold_heading(find_breaks(words, tokens, starts), first)
    while end < total:
        start = _choose_start(breaks, start, end, overlap) if end else 0
        if not is_last and start + budget + _MARGIN >= total:
            return
        end = _choose_end(breaks, start, end, budget, total)
        yield _span(window, tokens, start, end)


def _span(window: Span, tokens: TokenSpans, start: int, end: int) -> Span:
    return Span(window.start + int(tokens[start, 0]), window.start + int(tokens[end - 1, 1]))


def _hold_heading(breaks: Breaks, body: int) -> Breaks:
    return Breaks(
        pages=breaks.pages[breaks.pages > body],
        paragraphs=breaks.paragraphs[breaks.paragraphs > body],
        sentences=breaks.sentences[breaks.sentences > body],
        words=breaks.words[breaks.words != body],
    )


def _choose_end(breaks: Breaks, start: int, done: int, budget: int, total: int) -> int:
    """Returns where the piece from token `start` ends: after `done`, where the last one ended."""
    limit = start + budget
    page = _find_first(breaks.pages, max(done, start + budget * 2 // 5) + 1)
    if page <= limit:
        return page
    if limit >= total:
        return total
    paragraph = _find_last(breaks.paragraphs, limit)
    if paragraph > max(done, start + budget // 2):
        return paragraph
    for level in (breaks.sentences, breaks.words):
        if (end := _find_last(level, limit)) > done:
            return end
    return limit


def _choose_start(breaks: Breaks, start: int, end: int, overlap: int) -> int:
    """Returns where the piece after that of the tokens `start` to `end` starts."""
    earliest = max(end - overlap, start + 1, _find_last(breaks.pages, end))
    if (sentence := _find_first(breaks.sentences, earliest)) < end:
        return sentence
    if (word := _find_first(breaks.words, earliest)) <= end:
        return word
    return earliest  # a cut inside a word without a blank: there is nothing better in reach


def _find_last(breaks: TokenIndices, limit: int) -> int:
    index = bisect_right(breaks, limit)
    return int(breaks[index - 1]) if index else _NONE_BEFORE


def _find_first(breaks: TokenIndices, earliest: int) -> int:
    index = bisect_left(breaks, earliest)
    return int(breaks[index]) if index < len(breaks) else _NONE_AFTER
