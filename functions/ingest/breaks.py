"""Finds where a text may be cut: before paragraphs, sentences and words."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from functions.ingest.tokens import IDEOGRAPHIC, TokenSpans

type TokenIndices = NDArray[np.intp]
"""Token k, in rising order, means: between tokens k-1 and k."""

_PARAGRAPH = re.compile(r"\n\s*\n|\u2029")

_CLOSERS = r"""”’」』）】》〉〕］｝)\]}"'"""
# Each alternative takes all marks in a row at once, so that no text takes quadratic time. The last
# one ends before an item of a list, a row of a table, a quote, a comment.
_SENTENCE_END = re.compile(
    rf"(?:[。！？；]|．(?![0-9０-９])|…{{2,}})[。！？；．…!?.]*[{_CLOSERS}]*"
    rf"|(?<![!?.])(?:[!?.]++[{_CLOSERS}]*+(?=\s|\Z)|[!?]++[{_CLOSERS}]*+(?=[\u2e80-\u9fff]))"
    r"|\n(?=[^\S\n]*(?:[-*+•]\s|\d{1,9}[.)]\s|[|>#]))"
)
# What stands before a dot that ends no sentence: initials, "e.g", abbreviations, an item's number.
_ABBREVIATION = re.compile(
    r"(?:(?:^|[^\w.])(?:(?:[^\W\d_]\.)*[^\W\d_]"
    r"|al|approx|cf|co|dept|dr|est|etc|inc|jr|ltd|mr|mrs|ms|prof|sr|st|vs)"
    r"|(?:^|\n)[^\S\n]*\d{1,9})\Z",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(
    r"(?:^|[^\w.])(?:art|ch|eqs?|figs?|nos?|pp?|secs?|vols?)\Z", re.IGNORECASE
)
_NUMBER = re.compile(r"\s+\d")
_LONGEST_ABBREVIATION = 16  # characters looked at before a dot

_NEVER_FIRST = (
    "、。，．：；？！…‥—～·・”’」』）】》〉〕］｝％!%),.:;?]}"
    "ー々〻゛゜ゝゞヽヾぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
)
_NEVER_LAST = "“‘「『（【《〈〔［｛([{￥＄$"


@dataclass(frozen=True, slots=True)
class Breaks:
    """The tokens that begin a unit; each begins one of the next smaller kind as well."""

    pages: TokenIndices
    paragraphs: TokenIndices
    sentences: TokenIndices
    words: TokenIndices


def find_breaks(text: str, tokens: TokenSpans, pages: Iterable[int] = ()) -> Breaks:
    """Returns where the units of a text begin, but for its very start, in linear time.

    Args:
        text: what is cut.
        tokens: its tokens.
        pages: where pages begin, in characters.
    """
    first = _find_first_tokens(pages, tokens)
    paragraphs = np.union1d(
        first, _find_first_tokens((m.end() for m in _PARAGRAPH.finditer(text)), tokens)
    )
    ends = _find_first_tokens(_find_sentence_ends(text), tokens)
    sentences = np.union1d(paragraphs, ends)
    words = np.union1d(sentences, _find_words(text, tokens))
    return Breaks(first, paragraphs, sentences, words)


def _find_first_tokens(positions: Iterable[int], tokens: TokenSpans) -> TokenIndices:
    found = np.unique(np.searchsorted(tokens[:, 0], np.fromiter(positions, np.int32)))
    return found[(found > 0) & (found < len(tokens))]


def _find_sentence_ends(text: str) -> Iterator[int]:
    for end in _SENTENCE_END.finditer(text):
        if not (end[0] == "." and _belongs_to_word(text, end.start())):
            yield end.end()


def _belongs_to_word(text: str, dot: int) -> bool:
    before = text[max(0, dot - _LONGEST_ABBREVIATION) : dot]
    return bool(
        _ABBREVIATION.search(before)
        or (_BEFORE_NUMBER.search(before) and _NUMBER.match(text, dot + 1))
    )


def _find_words(text: str, tokens: TokenSpans) -> TokenIndices:
    """Returns where words begin.

    That is after a blank, and on both sides of an ideographic character, but for punctuation that
    belongs to what stands beside it.
    """
    characters = np.frombuffer(text.encode("utf-32-le"), np.uint32)[tokens[:, 0]]
    before, after = characters[:-1], characters[1:]
    blank = tokens[1:, 0] > tokens[:-1, 1]
    loose = (_is_ideographic(before) | _is_ideographic(after)) & ~(
        np.isin(before, _write_points(_NEVER_LAST)) | np.isin(after, _write_points(_NEVER_FIRST))
    )
    return np.flatnonzero(blank | loose) + 1


def _is_ideographic(characters: NDArray[np.uint32]) -> NDArray[np.bool_]:
    found = np.zeros(len(characters), np.bool_)
    for first, last in IDEOGRAPHIC:
        found |= (characters >= first) & (characters <= last)
    return found


def _write_points(characters: str) -> NDArray[np.uint32]:
    return np.array([ord(character) for character in characters], np.uint32)
