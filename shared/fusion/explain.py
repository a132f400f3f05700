"""Why a chunk stands where it stands."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from shared.fusion.weighted import Weights
from shared.model import Channel, Standing


class Explanation(NamedTuple):
    """Every figure that made the final score.

    Attributes:
        channels: rank and raw score in each channel that found the chunk, or in the external base.
        vector_score: V, the cosine; None where it is unknown.
        keyword_score: K; None where the query's method has none.
        weights: as applied, their sum 1; None where the method has none.
        rerank_score: the reranking model's, in 0 to 1.
        final_score: unrounded, maybe negative; what threshold and order used.
        threshold: what the final score was compared with; None when that was off.
    """

    channels: Mapping[Channel, Standing] | Mapping[str, Standing]
    final_score: float
    vector_score: float | None = None
    keyword_score: float | None = None
    weights: Weights | None = None
    rerank_score: float | None = None
    threshold: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the `explain` object of an answer's record."""
        return {
            "channels": {str(name): standing._asdict() for name, standing in self.channels.items()},
            "vector_score": self.vector_score,
            "keyword_score": self.keyword_score,
            "weights": asdict(self.weights) if self.weights else None,
            "rerank_score": self.rerank_score,
            "final_score": self.final_score,
            "threshold": self.threshold,
        }
