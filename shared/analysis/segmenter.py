"""jieba's words. Its Rust port cuts, which starts ten times sooner; jieba itself guesses.

Where no guesses are wanted the port cuts exactly as jieba does: it sums the same logarithms in the
same order. Its guesses differ, so they come from jieba's own model. Both are loaded at the first
Chinese text, and jieba's dictionary never.
"""

import re
import warnings
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any

_BLOCK = re.compile("[\u4e00-\u9fd5a-zA-Z0-9+#&._%-]+")
"""What jieba cuts as one; everything else it gives character by character."""
_HAN = re.compile("[\u4e00-\u9fd5]")
_WORDS_WITHOUT_HAN = re.compile(r"(AT&T|[Cc](?:\+\+|#))")
"""All that jieba's dictionary has."""
_PARTS_WITHOUT_HAN = re.compile(r"([a-zA-Z0-9]+(?:\.[0-9]+)?%?)")
"""How jieba takes apart what has no Chinese character and is no word of its dictionary."""

_lock = Lock()
_loaded: list[tuple[Any, Any]] = []


def cut(text: str) -> Iterator[str]:
    """Yields jieba's words, guesses included, without the spaces and punctuation between blocks."""
    for block in _BLOCK.findall(text):
        unknown = ""
        for word, is_known in _cut_block(block):
            if not is_known:
                unknown += word
                continue
            if unknown:
                yield from _guess(unknown)
                unknown = ""
            yield word
        if unknown:
            yield from _guess(unknown)


def cut_for_search(text: str) -> Iterable[tuple[str, int, int]]:
    """Returns jieba's words and the words inside them, without guesses: word, start, end."""
    port, _ = _load()
    words: Iterable[tuple[str, int, int]] = port.tokenize(text, "search", False)
    return words


def _cut_block(block: str) -> Iterator[tuple[str, bool]]:
    """Yields the parts of the likeliest cut, and whether each is a word of more than a letter."""
    if _HAN.search(block) is None:
        for n, part in enumerate(_WORDS_WITHOUT_HAN.split(block)):
            yield part, n % 2 == 1
        return
    port, _ = _load()
    for part in port.cut(block, False):
        # The port joins neighbouring letters and digits; no word of the dictionary is of them only.
        yield part, len(part) > 1 and not (part.isascii() and part.isalnum())


def _guess(unknown: str) -> Iterable[str]:
    if len(unknown) < 2:  # noqa: PLR2004 - nothing to cut
        return [unknown]
    if _HAN.search(unknown) is None:
        return [part for part in _PARTS_WITHOUT_HAN.split(unknown) if part]
    port, model = _load()
    if port.has_word(unknown):  # and yet likelier apart
        return unknown
    words: Iterable[str] = model.cut(unknown)
    return words


def _load() -> tuple[Any, Any]:
    if _loaded:  # the lock costs more than the rest, where threads share it
        return _loaded[0]
    with _lock:
        if not _loaded:
            _loaded.append(_import())
        return _loaded[0]


def _import() -> tuple[Any, Any]:
    with warnings.catch_warnings():
        # jieba 0.42.1 writes "\." in plain strings, which warns where it is compiled, and imports
        # pkg_resources where there is one, which is deprecated.
        warnings.simplefilter("ignore")
        import rjieba  # noqa: PLC0415 - loaded only where they are needed
        from jieba import finalseg  # noqa: PLC0415

    return rjieba, finalseg
