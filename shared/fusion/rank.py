"""Order, threshold and cut: by the unrounded score, ties by chunk id."""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from shared.fusion.explain import Explanation

TOLERANCE = 1e-9
"""What a score may lack of the threshold: sums such as 0.7·0.4 + 0.3·1 miss 0.58 by a rounding."""


class DropReason(StrEnum):
    """Why a candidate is not in the answer."""

    THRESHOLD = "threshold"
    TOP_K = "top_k"
    HIDDEN = "hidden"
    NOT_RERANKED = "not_reranked"
    PARENT = "parent"


class Scored(NamedTuple):
    """A candidate with its final score."""

    chunk_id: str
    score: float
    explanation: Explanation


class Dropped(NamedTuple):
    """A candidate that fell out, and why."""

    chunk_id: str
    reason: DropReason
    explanation: Explanation

    @classmethod
    def of(cls, scored: Scored, reason: DropReason) -> "Dropped":
        """Returns the candidate as dropped for this reason."""
        return cls(scored.chunk_id, reason, scored.explanation)

    def restore(self) -> Scored:
        """Returns the candidate as it was scored."""
        return Scored(self.chunk_id, self.explanation.final_score, self.explanation)


def rank(scored: Iterable[Scored]) -> list[Scored]:
    """Returns the candidates best first, those of equal score by chunk id; NaN comes last."""
    return sorted(scored, key=_standing)


def pass_threshold(
    ranked: Sequence[Scored], threshold: float | None
) -> tuple[list[Scored], list[Dropped]]:
    """Returns who reaches the threshold (>=, within `TOLERANCE`) and who doesn't; None is off."""
    if threshold is None:
        return list(ranked), []
    least = threshold - TOLERANCE
    kept = [scored for scored in ranked if scored.score >= least]
    missed = [
        Dropped.of(scored, DropReason.THRESHOLD)
        for scored in ranked
        if not scored.score >= least  # not `<`: NaN reaches no threshold
    ]
    return kept, missed


def cut(ranked: Sequence[Scored], top_k: int) -> tuple[list[Scored], list[Dropped]]:
    """Returns the first `top_k` and the rest."""
    return list(ranked[:top_k]), [Dropped.of(scored, DropReason.TOP_K) for scored in ranked[top_k:]]


def shown_score(score: float) -> float:
    """Returns the score as an answer shows it: max(0, min(1, score)); 0 for NaN."""
    return 0.0 if math.isnan(score) else max(0.0, min(1.0, score))


def _standing(scored: Scored) -> tuple[float, str]:
    return (math.inf if math.isnan(scored.score) else -scored.score, scored.chunk_id)
