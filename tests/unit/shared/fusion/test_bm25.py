import math

import numpy as np
import pytest

from shared.fusion.bm25 import bm25_scores


def test_is_the_share_of_the_most_that_the_query_could_score() -> None:
    idf_sum, k1 = 3.0, 1.2
    most = (k1 + 1) * idf_sum
    assert bm25_scores([most / 2, most / 4], idf_sum, k1).tolist() == pytest.approx([0.5, 0.25])


def test_does_not_depend_on_the_other_candidates() -> None:
    assert bm25_scores([1.5, 9.0, 4.0], 5.0)[0] == bm25_scores([1.5], 5.0)[0]


def test_e11_no_score_counts_nothing() -> None:
    assert bm25_scores([None, math.nan, 2.2], 2.0).tolist() == pytest.approx([0, 0, 0.5])


def test_stays_within_bounds_when_statistics_moved_between_the_calls() -> None:
    assert bm25_scores([9.0, -1.0], 2.0).tolist() == [1.0, 0.0]


def test_a_query_of_unknown_words_scores_nothing() -> None:
    np.testing.assert_array_equal(bm25_scores([0.0, 3.0], 0.0), [0.0, 0.0])
    assert bm25_scores([], 0.0).shape == (0,)
