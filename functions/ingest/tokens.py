"""Counts tokens without any model: the unit of a chunk's budget.

The estimate, the same for every embedder:

- white space: 0;
- an ideograph, kana, Hangul syllable, full-width or CJK punctuation character: 1;
- a run of Latin letters and ASCII digits: 1 for every 4 characters begun;
- a run of letters or digits of other scripts: 1 for every 2 characters begun;
- every other character, such as punctuation, symbols and emoji: 1.

Combining marks, variation selectors and joiners belong to the character before them, what a joiner
joins to it as well, and the two letters of a flag to each other, so that no cut parts them.

Tokens are found from left to right and look at nothing outside themselves. So a piece of text that
starts and ends at token borders has exactly the tokens that it has within the whole: counts add up.
"""

import re
import unicodedata
from itertools import chain

import numpy as np
from numpy.typing import NDArray

type TokenSpans = NDArray[np.int32]
"""Start (included) and end (excluded) of each token in characters, shape (tokens, 2), rising."""

IDEOGRAPHIC = (
    (0x2E80, 0x2FFF),  # radicals; U+3000 after them is a blank
    (0x3001, 0x9FFF),  # CJK punctuation, kana, ideographs
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF00, 0xFFEF),  # full-width forms
    (0x20000, 0x3FFFF),
)
"""Code points of scripts without blanks, where a line may break at nearly every character."""

_HANGUL = ((0x1100, 0x11FF), (0xAC00, 0xD7AF))
_LATIN = "0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_MOST_MARKS = 8  # a base character with more is not writing, and must not grow past the budget
_MOST_JOINED = 8
_JOINER = "\u200d"
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"


def _write_class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _list_marks() -> str:
    # Of the first plane only: a class with many ranges beyond it makes matching six times slower.
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c))[0] == "M")
    skin_tones, ideograph_variants = "\U0001f3fb-\U0001f3ff", "\U000e0100-\U000e01ef"
    return marks + _JOINER + skin_tones + ideograph_variants


_MARKS = rf"[{_list_marks()}]{{0,{_MOST_MARKS}}}"
_TOKEN = re.compile(
    rf"(?:[{_write_class(IDEOGRAPHIC + _HANGUL)}]|[{_LATIN}]{{1,4}}|[^\W_]{{1,2}}"
    rf"|[{_FLAG_LETTERS}]{{2}}|\S){_MARKS}"
    rf"(?:(?<={_JOINER})\S{_MARKS}){{0,{_MOST_JOINED}}}"
)


def count_tokens(text: str) -> int:
    """Returns the number of tokens, in time linear in the text."""
    return sum(1 for _ in _TOKEN.finditer(text))


def find_tokens(text: str) -> TokenSpans:
    """Returns where each token starts and ends: together they hold all that is not white space."""
    borders = chain.from_iterable(token.span() for token in _TOKEN.finditer(text))
    return np.fromiter(borders, np.int32).reshape(-1, 2)
