"""K in its `dify` form: how well a chunk's keywords match the query's, among these candidates.

The rule is Dify's (its jieba keyword table and its weight reranker): keywords are what jieba's
`extract_tags` finds, their weights the idf among the candidates, the score the cosine of both sets.
Absorbed here without `jieba.analyse`, which loads 6 MB of weights and a part-of-speech tagger only
to order a list that ends as a set.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from shared.analysis.segmenter import load_segmenter

LONGEST_KEYWORD = 128
"""Keywords are cut at this many characters."""

_JIEBA_STOP_WORDS = """
    the of is and to in that we for an are by be as on with can if from which you it this then at
    have all not one has or
"""
_STOP_WORDS = frozenset(_JIEBA_STOP_WORDS.split())
_RUN = re.compile(r"\w+")


def dify_keywords(text: str) -> frozenset[str]:
    """Returns the text's keywords, case-sensitive: jieba's tags and the parts of such as `v2.5`."""
    tags = {tag for tag in load_segmenter().cut(text) if len(tag.strip()) > 1}
    tags = {tag for tag in tags if tag.lower() not in _STOP_WORDS}
    return frozenset(word[:LONGEST_KEYWORD] for tag in tags for word in _expand(tag))


def _expand(tag: str) -> list[str]:
    runs = _RUN.findall(tag)
    if len(runs) < 2:  # noqa: PLR2004 - the tag itself
        return [tag]
    return [tag, *(run for run in runs if run not in _STOP_WORDS)]


def format_keywords(keywords: Collection[str]) -> str:
    """Returns the keywords as they are stored beside a chunk: sorted, one a line."""
    return "\n".join(sorted(keywords))


def parse_keywords(text: str) -> list[str]:
    """Returns the distinct keywords that `format_keywords` wrote."""
    return text.split("\n") if text else []


def dify_scores(
    query: frozenset[str], candidates: Sequence[Collection[str]]
) -> NDArray[np.float64]:
    """Returns K of each candidate, in 0 to 1: the cosine of its idf vector with the query's.

    With N candidates, `idf(w) = ln((1 + N) / (1 + df(w))) + 1`, df counted over the candidates;
    words of the query that no candidate has count nothing.

    Args:
        query: the query's keywords.
        candidates: each candidate's keywords, distinct within one.
    """
    n = len(candidates)
    lengths = np.fromiter(map(len, candidates), np.int64, n)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    words = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(candidates)), np.int64, int(lengths.sum())
    )
    df = np.bincount(words)
    asked = np.zeros(len(df), np.bool_)
    asked[[numbers[word] for word in query if word in numbers]] = True

    # idf depends on df alone, so we count each candidate's words of each df, and sum over those
    # counts: integers until the last step, the same in whatever order a set gives its words.
    squares = (np.log((1 + n) / (1 + np.arange(n + 1))) + 1) ** 2
    cells = np.repeat(np.arange(n) * (n + 1), lengths) + df[words]
    norms = _sum_rows(cells, squares, n)
    shared = _sum_rows(cells[asked[words]], squares, n)
    query_norm = _sum_rows(df[asked], squares, 1)
    cosines = np.divide(shared, np.sqrt(query_norm * norms), out=np.zeros(n), where=shared > 0)
    return np.minimum(cosines, 1.0)


def _sum_rows(
    cells: NDArray[np.int64], squares: NDArray[np.float64], rows: int
) -> NDArray[np.float64]:
    """Sums squared idfs for each row; a cell is row · (N + 1) + df."""
    counts = np.bincount(cells, minlength=rows * len(squares)).reshape(rows, len(squares))
    sums: NDArray[np.float64] = (counts * squares).sum(axis=1)
    return sums
