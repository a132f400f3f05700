import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ConfigurationError
from shared.fusion.cosine import cosine_from_score


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


@given(st.floats(-1, 1))
def test_e08_undoes_what_the_engine_does(cosine: float) -> None:
    assert cosine_from_score("cosinesimil", (1 + cosine) / 2) == pytest.approx(cosine, abs=1e-9)
    assert cosine_from_score("l2", 1 / (1 + 2 - 2 * cosine)) == pytest.approx(cosine, abs=1e-9)


@given(st.sampled_from(["cosinesimil", "l2"]), st.floats(0, 1.0001))
def test_float32_noise_stays_within_a_cosine(space_type: str, score: float) -> None:
    assert -1 <= cosine_from_score(space_type, score) <= 1


def test_an_unknown_space_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="space_type: 'innerproduct'"):
        cosine_from_score("innerproduct", 0.5)
