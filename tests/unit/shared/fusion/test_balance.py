import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.fusion.balance import HEAD, NOISE, balance_weights
from shared.fusion.weighted import Weights

FLAT = [0.6] * 8
FIGURES = st.lists(st.floats(0, 1), min_size=HEAD + 1, max_size=40)


def balance(vector: list[float], keyword: list[float]) -> Weights:
    return balance_weights(np.array(vector), np.array(keyword))


def test_each_weight_is_the_distance_over_the_variance() -> None:
    vector = [0.9, 0.8, 0.7, 0.5, 0.4, 0.3]
    keyword = [0.6, 0.0, 0.0, 0.0, 0.0, 0.0]
    # By hand: the best three are .8 of a mean of .6; the second's are .2 of .1.
    of_vector = 0.7 * 0.2 / (np.var(vector) + NOISE**2)
    of_keyword = 0.3 * 0.1 / (np.var(keyword) + NOISE**2)
    found = balance(vector, keyword)
    assert found.vector == pytest.approx(of_vector / (of_vector + of_keyword))
    assert found.vector + found.keyword == pytest.approx(1)


def test_equal_separation_leaves_the_usual_weights() -> None:
    scores = [0.9, 0.5, 0.4, 0.3, 0.2]
    assert balance(scores, scores[::-1]).vector == pytest.approx(0.7)


def test_a_component_that_tells_nothing_apart_has_no_weight() -> None:
    sharp = [0.9, *[0.2] * 7]
    assert balance(sharp, FLAT) == Weights(1, 0)
    assert balance(FLAT, sharp) == Weights(0, 1)


def test_where_nothing_is_known_the_usual_weights_stay() -> None:
    assert balance(FLAT, [0.0] * 8) == Weights(0.7, 0.3).scale()
    for few in range(HEAD + 1):
        assert balance([0.9, 0.5, 0.1][:few], [0.0, 0.7, 0.2][:few]) == Weights(0.7, 0.3).scale()


def test_differences_as_small_as_noise_are_not_blown_up() -> None:
    vector = [0.9, 0.8, 0.5, 0.4, 0.4, 0.3, 0.3, 0.2]
    chance = [0.0, 0.0, 0.0, 0.0, 0.001, 0.0, 0.0, 0.0]
    assert balance(vector, chance).vector > 0.8


@given(vector=FIGURES, data=st.data())
def test_the_order_of_candidates_is_nothing_to_it(vector: list[float], data: st.DataObject) -> None:
    pairs = [(v, data.draw(st.floats(0, 1))) for v in vector]
    shuffled = data.draw(st.permutations(pairs))
    found, again = (
        balance([v for v, _ in each], [k for _, k in each]) for each in (pairs, shuffled)
    )
    assert found == again
    assert min(found.vector, found.keyword) >= 0
    assert found.vector + found.keyword == pytest.approx(1)


COSINES = st.floats(-1, 1)
SHARES = st.floats(0, 1)
ALIKE = st.one_of(SHARES, st.sampled_from([0.0, 0.5, 0.5 + 1e-12, 1.0]))


@given(pairs=st.lists(st.tuples(COSINES | ALIKE, ALIKE), max_size=200), copies=st.integers(1, 5))
def test_any_candidates_have_weights(pairs: list[tuple[float, float]], copies: int) -> None:
    """None, one, copies of one another, all alike: the weights are not negative, their sum is 1."""
    found = balance([v for v, _ in pairs] * copies, [k for _, k in pairs] * copies)
    assert min(found.vector, found.keyword) >= 0
    assert found.vector + found.keyword == pytest.approx(1)


@given(
    vector=st.lists(st.floats(0.2, 0.9), min_size=8, max_size=40),
    keyword=st.lists(SHARES, min_size=40, max_size=40),
    scale=st.floats(0.5, 1.0),
)
def test_a_model_with_narrower_cosines_is_heard_as_well(
    vector: list[float], keyword: list[float], scale: float
) -> None:
    assume(np.std(vector) > 10 * NOISE)
    wide = balance(vector, keyword[: len(vector)])
    narrow = balance([0.5 + scale * v / 2 for v in vector], keyword[: len(vector)])
    # What V adds between two candidates, against what K does, stays what it was.
    assume(min(wide.vector, wide.keyword) > 0.01)
    before, after = (w.vector * s / w.keyword for w, s in ((wide, 1), (narrow, scale / 2)))
    assert after == pytest.approx(before, rel=0.2)


@given(scores=FIGURES, shift=st.floats(-1, 1))
def test_a_scale_that_starts_elsewhere_is_nothing_to_it(scores: list[float], shift: float) -> None:
    keyword = [0.8, *[0.1] * (len(scores) - 1)]
    moved = [score + shift for score in scores]
    assert balance(moved, keyword).vector == pytest.approx(
        balance(scores, keyword).vector, abs=1e-6
    )
