"""Weights for one query: how much each component tells its candidates apart."""

import numpy as np
from numpy.typing import NDArray

from shared.fusion.weighted import Weights

HEAD = 3
"""How many of the best are set against all. With no more candidates than that nothing is known."""

NOISE = 0.01
"""Differences of this size mean nothing, in a cosine or in K; quantised models err by as much."""

USUAL = Weights()
"""What holds where both separate equally well."""


def balance_weights(vector: NDArray[np.float64], keyword: NDArray[np.float64]) -> Weights:
    """Returns the usual weights, each times how well its component separates best from rest.

    That is Fisher's linear discriminant ("The use of multiple measurements in taxonomic problems",
    1936) for two measures taken as independent: the weight of each is the distance between the
    groups over the variance. A component that is the same for all candidates gets no weight; where
    both are, or there are no more than `HEAD` candidates, the usual weights stay.

    Args:
        vector: V, shape (candidates,), finite.
        keyword: K, likewise.
    """
    of_vector = USUAL.vector * _separate(vector)
    of_keyword = USUAL.keyword * _separate(keyword)
    if of_vector == of_keyword == 0:
        return USUAL.scale()
    return Weights(of_vector, of_keyword).scale()


def _separate(scores: NDArray[np.float64]) -> float:
    if len(scores) <= HEAD:
        return 0.0
    # Sorted, so that the sums don't depend on the order; from the least, so that equals are 0.
    scores = np.sort(scores)
    scores = scores - scores[0]
    distance = scores[-HEAD:].mean() - scores.mean()
    return float(distance / (scores.var() + NOISE**2))
