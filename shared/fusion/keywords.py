"""K in its `dify` form: how well a chunk's keywords match the query's, among these candidates.

The rule is Dify's (its jieba keyword table and its weight reranker): keywords are what jieba's
`extract_tags` finds, their weights the idf among the candidates, the score the cosine of both sets.
Absorbed here without `jieba.analyse`, which loads 6 MB of weights and a part-of-speech tagger only
to order a list that ends as a set.
"""

import re
from collections.abc import Collection, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from shared.analysis.segmenter import cut

LONGEST_KEYWORD = 128
"""Keywords are cut at this many characters."""

_JIEBA_STOP_WORDS = """
    the of is and to in that we for an are by be as on with can if from which you it this then at
    have all not one has or
"""
_STOP_WORDS = frozenset(_JIEBA_STOP_WORDS.split())
_RUN = re.compile(r"\w+")
_HASH = np.dtype("<i8")


def dify_keywords(text: str) -> frozenset[str]:
    """Returns the text's keywords, case-sensitive: jieba's tags and the parts of such as `v2.5`."""
    tags = {tag for tag in cut(text) if len(tag) > 1}
    tags = {tag for tag in tags if tag.lower() not in _STOP_WORDS}
    return frozenset(word[:LONGEST_KEYWORD] for tag in tags for word in _expand(tag))


def _expand(tag: str) -> list[str]:
    if tag.isalnum():  # nearly all, and quicker told
        return [tag]
    runs = _RUN.findall(tag)
    if len(runs) < 2:  # noqa: PLR2004 - the tag itself
        return [tag]
    return [tag, *(run for run in runs if run not in _STOP_WORDS)]


def pack_keywords(keywords: Collection[str]) -> bytes:
    """Returns the keywords as they are kept beside a chunk: each as 64 bits of its hash, sorted.

    Numbers of one width are compared by the thousand at once; texts one by one. Two of a million
    different keywords share a hash with a chance of one in thirty million.
    """
    return _hash_all(keywords).tobytes()


def dify_scores(query: Collection[str], candidates: Sequence[bytes]) -> NDArray[np.float64]:
    """Returns K of each candidate, in 0 to 1: the cosine of its idf vector with the query's.

    With N candidates, `idf(w) = ln((1 + N) / (1 + df(w))) + 1`, df counted over the candidates;
    words of the query that no candidate has count nothing.

    Args:
        query: the query's keywords.
        candidates: each candidate's keywords, distinct, as `pack_keywords` wrote them.
    """
    n = len(candidates)
    packed = b"".join(candidates)
    if not packed or not query:
        return np.zeros(n)
    words = np.frombuffer(packed, _HASH)
    rows = np.repeat(np.arange(n), [len(each) // _HASH.itemsize for each in candidates])
    distinct, numbers, df = np.unique(words, return_inverse=True, return_counts=True)
    asked = np.isin(distinct, _hash_all(query), assume_unique=True)

    # idf depends on df alone, so squares are looked up by df; sums run over a candidate's sorted
    # words, so that they are the same in whatever order a set gives its words.
    squares = ((np.log((1 + n) / (1 + np.arange(n + 1))) + 1) ** 2)[df]
    of_words = squares[numbers]
    norms = np.bincount(rows, of_words, n)
    shared = np.bincount(rows, of_words * asked[numbers], n)
    query_norm = squares[asked].sum()
    cosines: NDArray[np.float64] = np.divide(
        shared, np.sqrt(query_norm * norms), out=np.zeros(n), where=shared > 0
    )
    return cosines.clip(max=1.0)


def _hash_all(keywords: Collection[str]) -> NDArray[np.int64]:
    digests = (blake2b(word.encode(), digest_size=_HASH.itemsize).digest() for word in keywords)
    return np.sort(np.frombuffer(b"".join(digests), _HASH))
