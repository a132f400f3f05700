"""K in its `bm25` form: BM25 as a share of the most that the query could score."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def bm25_scores(
    raw: Sequence[float | None], query_idf_sum: float, k1: float = 1.2
) -> NDArray[np.float64]:
    """Returns each hit's BM25 divided by its least upper bound, so in 0 to 1.

    BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009)
    sums idf(w) · tf·(k1 + 1) / (tf + k1·(1 - b + b·length)) over the query's words. The fraction
    stays below k1 + 1, so the bound is (k1 + 1) · Σ idf. It depends on the query and the index
    alone: K is the same whatever else was found.

    Args:
        raw: BM25 of each hit; None where the engine gave none, which counts 0.
        query_idf_sum: Σ idf of the query's words, each as often as the query has it.
        k1: the engine's saturation parameter; its formula must have the factor k1 + 1.
    """
    if query_idf_sum <= 0:
        return np.zeros(len(raw))
    scores = np.array(raw, dtype=np.float64) / ((k1 + 1) * query_idf_sum)
    return np.clip(np.nan_to_num(scores, nan=0.0), 0.0, 1.0)
