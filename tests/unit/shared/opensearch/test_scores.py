import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.opensearch.scores import cosine_from_score, inverse_document_frequency


@given(st.floats(-1, 1))
def test_a_cosine_comes_back_from_each_spaces_score(cosine: float) -> None:
    squared_distance = 2 - 2 * cosine
    assert cosine_from_score("cosinesimil", (1 + cosine) / 2) == pytest.approx(cosine, abs=1e-12)
    assert cosine_from_score("l2", 1 / (1 + squared_distance)) == pytest.approx(cosine, abs=1e-12)


def test_another_space_is_an_error() -> None:
    with pytest.raises(ValueError, match="innerproduct"):
        cosine_from_score("innerproduct", 0.5)


@given(st.integers(0, 10**7), st.data())
def test_idf_is_positive_and_falls_as_more_chunks_hold_the_word(
    chunks: int, data: st.DataObject
) -> None:
    holding = data.draw(st.integers(0, chunks))
    idf = inverse_document_frequency(chunks, holding)
    assert idf > 0
    if holding < chunks:
        assert inverse_document_frequency(chunks, holding + 1) < idf


def test_idf_of_three_in_six_is_the_engines_own() -> None:
    assert inverse_document_frequency(6, 3) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("space_type", "score", "cosine"),
    [
        ("l2", 0.714286, 0.8),
        ("l2", 0.333333, 0.0),
        ("cosinesimil", 0.9, 0.8),
        ("cosinesimil", 0.5, 0.0),
    ],
)
def test_e08_scores_become_cosines(space_type: str, score: float, cosine: float) -> None:
    assert cosine_from_score(space_type, score) == pytest.approx(cosine, abs=2e-6)
