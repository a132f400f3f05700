"""What counts as a reranking model's answer. Pure."""

import math
from typing import Any

from shared.errors import RerankerFailed

_TOLERANCE = 1e-6
"""What a 32-bit float may be beside 0 or 1."""


def read_scores(
    model: str, items: object, key: str, count: int, *, are_logits: bool = False
) -> list[float]:
    """Returns the scores of an answer's items in the order of their `index`, each in 0 to 1.

    Args:
        model: as errors name it.
        items: as the server sent them, in any order.
        key: of an item's score.
        count: how many passages were sent.
        are_logits: the scores go through the logistic function.

    Raises:
        RerankerFailed: not every passage is scored exactly once by a finite number, or one that is
            no logit lies outside 0 to 1.
    """
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise RerankerFailed(f"{model} gave no list of scores")
    scores = {item.get("index"): item.get(key) for item in items if type(item.get("index")) is int}
    if len(items) != count or scores.keys() != set(range(count)):
        raise RerankerFailed(
            f"{model} gave {len(items)} scores for {count} passages, or not one for each"
        )
    read = [_read_number(model, scores[n]) for n in range(count)]
    return [hold_score(model, logistic(each) if are_logits else each) for each in read]


def logistic(logit: float) -> float:
    """Returns 1 / (1 + e^-logit) without overflow."""
    small = math.exp(-abs(logit))
    return 1 / (1 + small) if logit >= 0 else small / (1 + small)


def hold_score(model: str, score: float) -> float:
    """Returns a score between 0 and 1; raises `RerankerFailed` where it is none."""
    if not -_TOLERANCE <= score <= 1 + _TOLERANCE:
        raise RerankerFailed(f"{model} gave a score outside 0 to 1")
    return min(1.0, max(0.0, score))


def _read_number(model: str, score: Any) -> float:
    try:
        number = math.nan if isinstance(score, bool | str) else float(score)
    except (OverflowError, TypeError):
        number = math.nan
    if not math.isfinite(number):
        raise RerankerFailed(f"{model} gave a score that is no finite number")
    return number
