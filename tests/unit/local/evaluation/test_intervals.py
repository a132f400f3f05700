import numpy as np
import pytest

from local.evaluation.intervals import compare


def test_an_interval_is_that_of_the_mean_of_paired_differences() -> None:
    random = np.random.default_rng(1)
    hardness = random.uniform(0, 1, 400)
    other = hardness + random.normal(0, 0.1, 400)
    one = hardness + 0.05 + random.normal(0, 0.1, 400)
    found = compare(one, other)
    assert found.mean == pytest.approx((one - other).mean())
    # By the normal approximation: what both find hard is no part of it.
    error = (one - other).std() / np.sqrt(400)
    assert found.low == pytest.approx(found.mean - 1.96 * error, abs=0.001)
    assert found.high == pytest.approx(found.mean + 1.96 * error, abs=0.001)


def test_the_same_figures_give_the_same_interval() -> None:
    one, other = np.array([1.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0, 0.5])
    assert compare(one, other) == compare(one.copy(), other.copy())
    assert compare(other, one).mean == -compare(one, other).mean


def test_no_difference_is_sure_to_be_none() -> None:
    assert compare(np.full(7, 0.3), np.full(7, 0.3)) == (0.0, 0.0, 0.0)
    assert compare(np.ones(1), np.zeros(1)) == (1.0, 1.0, 1.0)
