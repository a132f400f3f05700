import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.evaluation.measures import measure


def test_p01_a_query_without_an_answer_counts_as_zero() -> None:
    grades = {"q1": {"a": 1, "b": 1, "c": 1}, "q2": {"d": 1}}
    alone = measure({"q1": grades["q1"]}, {"q1": ["a"]})
    assert alone == pytest.approx(
        {"nDCG@10": 0.469279, "recall@10": 0.333333, "MRR@10": 1.0}, abs=1e-6
    )
    for run in ({"q1": ["a"], "q2": []}, {"q1": ["a"]}):
        assert measure(grades, run) == pytest.approx(
            {"nDCG@10": 0.234639, "recall@10": 0.166667, "MRR@10": 0.5}, abs=1e-6
        )


def test_p01_the_ideal_ranking_is_made_of_all_that_is_relevant() -> None:
    found = measure({"q1": {"a": 1, "b": 1, "c": 1}}, {"q1": ["a", "x", "b"]})
    assert found["nDCG@10"] == pytest.approx(0.703918, abs=1e-6)


def test_p03_a_document_counts_once() -> None:
    twice = measure({"q": {"a": 1}}, {"q": ["a", "a"]})
    assert twice == {"nDCG@10": 1.0, "recall@10": 1.0, "MRR@10": 1.0}
    assert measure({"q": {"a": 1, "b": 1}}, {"q": ["a", "a"]})["recall@10"] == 0.5


def test_p03_the_cut_counts_documents() -> None:
    run = ["x"] * 10 + ["a"]
    assert measure({"q": {"a": 1}}, {"q": run})["recall@10"] == 1.0


IDS = st.sampled_from("abcdefghijklmnop")


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.dictionaries(IDS, st.integers(-2, 4), min_size=1),
        min_size=1,
    ),
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(IDS, max_size=30)),
)
def test_p03_every_measure_is_between_0_and_1(
    grades: dict[str, dict[str, int]], run: dict[str, list[str]]
) -> None:
    assert all(0 <= value <= 1 + 1e-9 for value in measure(grades, run).values())


def test_p05_gain_is_linear_and_any_grade_from_1_is_relevant() -> None:
    graded = measure({"q": {"a": 1, "b": 3}}, {"q": ["a", "b"]})
    assert graded["nDCG@10"] == pytest.approx(0.796708, abs=1e-6)
    assert (graded["recall@10"], graded["MRR@10"]) == (1.0, 1.0)


def test_p05_a_negative_grade_counts_as_0() -> None:
    grades = {"q": {"a": -1, "b": 1}}
    assert measure(grades, {"q": ["a", "b"]}) == measure({"q": {"a": 0, "b": 1}}, {"q": ["a", "b"]})
    assert measure(grades, {"q": ["a", "b"]})["MRR@10"] == 0.5


def test_p05_ten_of_twelve_within_the_cut() -> None:
    relevant = {f"d{n}": 1 for n in range(12)}
    found = measure({"q": relevant}, {"q": [f"d{n}" for n in range(10)]})
    assert found["recall@10"] == pytest.approx(0.833333, abs=1e-6)
    assert found["nDCG@10"] == 1.0
