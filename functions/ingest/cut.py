"""Cuts one text into overlapping pieces under a token budget, at the best places there are."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from functions.ingest.breaks import Breaks, TokenIndices, find_breaks
from functions.ingest.tokens import find_tokens
from shared.model import Span

_NONE_AFTER = sys.maxsize
_NONE_BEFORE = 0


def cut(text: str, budget: int, overlap: int = 0, body: int = 0) -> Iterator[Span]:
    """Yields the spans of a text's pieces; together they hold all that is not white space.

    A piece is as long as the budget allows, but ends with a paragraph where that fills more than
    half of it, else with a sentence, else with a word; inside a word only when the word alone is
    over the budget. The next piece starts at most `overlap` tokens before that end, at a sentence,
    else at a word. Starts and ends strictly rise; no piece starts or ends with white space.

    Args:
        text: what is cut.
        budget: the most tokens of a piece, at least 1.
        overlap: the most tokens that a piece repeats of the one before; at most half the budget.
        body: the first character after the text's heading lines; no piece ends there, so that they
            stay with what follows.
    """
    tokens = find_tokens(text)
    total = len(tokens)
    if 0 < total <= budget:
        yield Span(int(tokens[0, 0]), int(tokens[-1, 1]))
        return
    breaks = _hold_heading(find_breaks(text, tokens), int(np.searchsorted(tokens[:, 0], body)))
    start = end = 0
    while end < total:
        start = _choose_start(breaks, start, end, overlap) if end else 0
        end = _choose_end(breaks, start, end, budget) if start + budget < total else total
        yield Span(int(tokens[start, 0]), int(tokens[end - 1, 1]))


def _hold_heading(breaks: Breaks, body: int) -> Breaks:
    return Breaks(
        paragraphs=breaks.paragraphs[breaks.paragraphs > body],
        sentences=breaks.sentences[breaks.sentences > body],
        words=breaks.words[breaks.words != body],
    )


def _choose_end(breaks: Breaks, start: int, done: int, budget: int) -> int:
    """Returns where the piece from token `start` ends: after `done`, where the last one ended."""
    limit = start + budget
    paragraph = _find_last(breaks.paragraphs, limit)
    if paragraph > max(done, start + budget // 2):
        return paragraph
    for level in (breaks.sentences, breaks.words):
        if (end := _find_last(level, limit)) > done:
            return end
    return limit


def _choose_start(breaks: Breaks, start: int, end: int, overlap: int) -> int:
    """Returns where the piece after that of the tokens `start` to `end` starts."""
    earliest = max(end - overlap, start + 1)
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
