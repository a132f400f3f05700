"""Reciprocal rank fusion: ranks alone decide, raw scores don't."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shared.model import Candidate, Channel


def rrf_scores(
    candidates: Sequence[Candidate], weights: Mapping[Channel, float], rank_constant: int
) -> NDArray[np.float64]:
    """Returns Σ wᵢ/(c + rankᵢ) ÷ Σ wᵢ/(c + 1) for each candidate: 1 for the first of every channel.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods" (2009), whose constant is 60; the divisor is ours. A channel that did not
    find the candidate adds nothing.

    Args:
        candidates: with their standing in each channel.
        weights: the query's channels, also those that found nothing.
        rank_constant: c, at least 0.
    """
    most = math.fsum(weights.values()) / (rank_constant + 1)
    sums = [
        math.fsum(
            weight / (rank_constant + candidate.channels[channel].rank)
            for channel, weight in weights.items()
            if channel in candidate.channels
        )
        for candidate in candidates
    ]
    return np.array(sums, dtype=np.float64) / most
