"""How sure a difference of means is: a paired bootstrap over the queries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
SEED = 20_181
_BLOCK = 500


class Difference(NamedTuple):
    """A mean of differences, and the interval that holds it with `CONFIDENCE`."""

    mean: float
    low: float
    high: float


def compare(one: NDArray[np.float64], other: NDArray[np.float64]) -> Difference:
    """Returns how much `one` is above `other`, two figures of the same queries.

    The interval is that of percentiles (Efron and Tibshirani, "An Introduction to the Bootstrap",
    1993, chapter 13). The same figures give the same interval: the seed is fixed.

    Args:
        one: a figure of each query, shape (queries,), at least one.
        other: likewise, in the same order.
    """
    differences = one - other
    queries = len(differences)
    random = np.random.default_rng(SEED)
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, _BLOCK):  # in blocks, so that memory stays small
        drawn = random.integers(0, queries, (_BLOCK, queries), dtype=np.int32)
        means[start : start + _BLOCK] = differences[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Difference(float(differences.mean()), float(low), float(high))
