"""Weighted score: the vector's and the keywords' opinion, each by its weight."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each component counts: finite, not negative, not both 0; parsing sees to it."""

    vector: float = 0.7
    keyword: float = 0.3

    def scale(self) -> "Weights":
        """Returns the weights divided by their sum."""
        largest = max(self.vector, self.keyword)  # first, so that no sum overflows
        vector, keyword = self.vector / largest, self.keyword / largest
        return Weights(vector / (vector + keyword), keyword / (vector + keyword))


def weighted_scores(
    vector: NDArray[np.float64], keyword: NDArray[np.float64], weights: Weights
) -> NDArray[np.float64]:
    """Returns w_v·V + w_k·K for each candidate, the weights divided by their sum.

    The formula is that of Dify's weight reranker, a convex combination (Bruch, Gai and Ingber, "An
    Analysis of Fusion Functions for Hybrid Retrieval", 2023): with V in -1 to 1 and K in 0 to 1 the
    score stays in -1 to 1.

    Args:
        vector: V, the cosines, shape (candidates,).
        keyword: K, shape (candidates,).
        weights: in any scale.
    """
    scaled = weights.scale()
    return scaled.vector * vector + scaled.keyword * keyword
