import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.fusion.weighted import Weights, weighted_scores

COSINE = st.floats(-1, 1)
SHARE = st.floats(0, 1)
WEIGHT = st.floats(0, 1e308)


def test_golden_figures() -> None:
    cosines, keyword = np.array([0.40, 0.55, 0.20]), np.array([1.0, 0.605349, 0.0])
    scores = weighted_scores(cosines, keyword, Weights())
    assert scores.tolist() == pytest.approx([0.58, 0.566605, 0.14], abs=1e-6)


def test_e16_weights_count_by_their_share() -> None:
    assert Weights(0.9, 0.9).scale() == Weights(0.5, 0.5)
    assert Weights(0, 2).scale() == Weights(0, 1)
    assert Weights(1e308, 1e308).scale() == Weights(0.5, 0.5)


@given(st.lists(st.tuples(COSINE, SHARE), min_size=1, max_size=20), WEIGHT, WEIGHT)
def test_agrees_with_the_formula(pairs: list[tuple[float, float]], w_v: float, w_k: float) -> None:
    assume(0 < w_v + w_k < float("inf"))
    share = w_v / (w_v + w_k)
    cosines, keyword = np.array(pairs).T
    scores = weighted_scores(cosines, keyword, Weights(w_v, w_k))
    expected = [share * v + (1 - share) * k for v, k in pairs]
    assert scores.tolist() == pytest.approx(expected, abs=1e-9)


PAIR = st.tuples(COSINE, SHARE)


@given(st.lists(PAIR, min_size=2, max_size=2), st.lists(SHARE, min_size=2, max_size=2))
def test_more_weight_never_turns_against_who_leads_in_that_component(
    pairs: list[tuple[float, float]], shares: list[float]
) -> None:
    before, after = sorted(shares)
    cosines, keyword = np.array(sorted(pairs, reverse=True)).T

    def lead(weight: float) -> float:
        first, second = weighted_scores(cosines, keyword, Weights(weight, 1 - weight))
        return float(first - second)

    if lead(before) >= 0:
        assert lead(after) >= -1e-12
