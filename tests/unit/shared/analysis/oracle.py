"""jieba itself, dictionary and all: what the segmenter has to agree with, and what to try."""

import warnings
from functools import cache
from typing import Any

from hypothesis import strategies as st


@cache
def load_jieba() -> Any:
    """Returns a `jieba.Tokenizer`, without its log and its cache in the temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


def cut(text: str) -> list[str]:
    """Returns jieba's words of a text, without what stands between its blocks."""
    from jieba import re_han_default

    return [word for word in load_jieba().cut(text) if re_han_default.match(word)]


def cut_for_search(text: str) -> list[tuple[str, int, int]]:
    """Returns jieba's words and the words inside them, without guesses."""
    return list(load_jieba().tokenize(text, mode="search", HMM=False))


def mixed_texts() -> st.SearchStrategy[str]:
    """Words and parts of words, rare characters and letters, in any order."""
    words = st.sampled_from(sorted(load_jieba().FREQ))
    # Unknown to the dictionary, so that jieba guesses.
    rare = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), max_size=4)
    latin = st.sampled_from(["C++", "c#", "AT&T", "v2.5", "12.50%", "a-b", "4S", "T恤", "K歌之王"])
    letters = st.text("aZ09+#&._%- \r\n\t，〇々㐀カ검é", max_size=4)
    return st.lists(words | words | rare | latin | letters, max_size=20).map("".join)
