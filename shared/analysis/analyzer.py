"""The product's analyzer: one for documents and queries, for the text and the keyword channel."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

import Stemmer

from shared.analysis.function_words import CHINESE_CHARACTERS, CHINESE_WORDS, ENGLISH
from shared.analysis.normalize import normalize
from shared.analysis.segmenter import cut_for_search

LONGEST_TOKEN = 128
"""Tokens are cut at this many characters."""

_HAN = "\u3005\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"
_HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
_NO_BLANKS = (  # Thai, Lao, Burmese and Khmer, with their signs of vowels and tones
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc-\u17dd"
)

_HAN_CHARACTER = re.compile(f"[{_HAN}]")

_local = threading.local()


def analyze(text: str) -> list[str]:
    """Returns the text's tokens, as often as it has them; none for blanks and punctuation.

    Han runs become jieba's words and the words inside them, plus every pair of neighbours; runs of
    kana, of Hangul and of scripts without blanks between words, such as Thai, become pairs of
    neighbours; everything else words, English ones as stems. What is written as one, such as
    `v2.5`, `user_id` or `C++`, is one token and its parts are others; a single letter and the Han
    character beside it, as in A股, are one more. No token holds white space.
    """
    tokens: list[str] = []
    text = normalize(text)
    for run in _patterns()[0].finditer(text):
        tokens.extend(_SPLITTERS[run.lastgroup or ""](run.group()))
        if run.end() == run.start() + 1 and run.lastgroup == "words":
            tokens.extend(_pair_letter(text, run.start()))
    return [token[:LONGEST_TOKEN] for token in tokens]


def keywords(text: str) -> tuple[str, ...]:
    """Returns the text's distinct content words, in the order of their first sight."""
    return pick_keywords(analyze(text))


def pick_keywords(tokens: Iterable[str]) -> tuple[str, ...]:
    """Returns the distinct tokens without function words, or all where nothing else is left."""
    distinct = dict.fromkeys(tokens)
    words = _function_words()
    content = tuple(
        token
        for token in distinct
        if token not in words
        and not (token[0] in CHINESE_CHARACTERS and CHINESE_CHARACTERS.issuperset(token))
    )
    return content or tuple(distinct)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Builds the pattern of a run of one kind and the pattern of a word inside an identifier."""
    # Python's \w leaves out combining marks, which would break Hindi words at each vowel sign.
    codes = range(0x300, 0x20000)
    mark = f"[{''.join(c for c in map(chr, codes) if unicodedata.category(c)[0] == 'M')}]"
    letter = rf"[^\W_{_HAN}{_KANA}{_HANGUL}{_NO_BLANKS}]"
    word = rf"{letter}+(?:{mark}+{letter}*)*"
    abbreviation = rf"(?<!{letter})(?:(?!\d){letter}\.){{2,}}(?!{letter})"
    joint = r"[-.'&]|_+|(?<=\d),(?=\d)"
    dot = rf"(?<!{letter})(?<![.)\]])\.(?=(?!\d){letter}{letter})"  # of a name such as .NET
    identifier = rf"(?:{dot})?{word}(?:(?:{joint}){word})*(?:\+\+|[+#%](?!{letter}))?"
    run = (
        rf"(?P<han>[{_HAN}]+)|(?P<pairs>[{_KANA}]+|[{_HANGUL}]+|[{_NO_BLANKS}]+)"
        rf"|(?P<words>{abbreviation}|{identifier})"
    )
    return re.compile(run), re.compile(word)


def _split_han(run: str) -> Iterator[str]:
    # Without jieba's guesses at words it does not know: they depend on what stands around them, so
    # that query and document differ; pairs find them anyway (CMRC 2018: nDCG@10 .979, not .970).
    known_pairs = set()
    for word, start, end in cut_for_search(run):
        if end == start + 2:
            known_pairs.add(start)
        yield word
    for start in range(len(run) - 1):
        if start not in known_pairs:
            yield run[start : start + 2]


def _split_pairs(run: str) -> Iterable[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]


def _pair_letter(text: str, at: int) -> Iterator[str]:
    if text[at].isalpha():
        for pair in (text[max(at - 1, 0) : at + 1], text[at : at + 2]):
            if _HAN_CHARACTER.search(pair):
                yield pair


def _split_words(run: str) -> Iterable[str]:
    whole = run.removesuffix("'s")
    parts = [_stem(part) for part in _patterns()[1].findall(whole)]
    if whole.replace("-", "").isalpha():
        return parts  # two-dimensional is two words; kept whole, too, it costs cranfield .004 nDCG
    return dict.fromkeys([whole, *parts])


_SPLITTERS = {"han": _split_han, "pairs": _split_pairs, "words": _split_words}


def _stem(word: str) -> str:
    if not (word.isascii() and word.isalpha()):
        return word
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")  # one a thread: it must not be shared
    stem: str = _local.stemmer.stemWord(word)
    return stem


@cache
def _function_words() -> frozenset[str]:
    return frozenset(map(_stem, ENGLISH)) | CHINESE_WORDS
