from datetime import date
from typing import Any

import pytest

from local.evaluation.filter_scores import Attempt, identify, score
from local.evaluation.questions import Question

LAST = "2025-12-31T23:59:59"


def condition(name: str, operator: str, value: Any = None) -> dict[str, Any]:
    return {"name": name, "comparison_operator": operator, "value": value}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (condition("a", "is", "x"), condition("a", "in", ["x"])),
        (condition("a", "in", ["x", "y"]), condition("a", "in", ["y", "x"])),
        (condition("a", "is not", "x"), condition("a", "not in", ["x"])),
        (condition("a", ">=", 5), condition("a", "≥", 5.0)),
        (condition("a", "after", f"{LAST}Z"), condition("a", "after", f"{LAST}.999999Z")),
        (condition("a", "before", "2026-01-01"), condition("a", "before", f"{LAST}.000001Z")),
        (condition("a", "before", 1767225600), condition("a", "before", "2026-01-01")),
    ],
)  # fmt: skip
def test_conditions_that_mean_the_same_are_one(one: Any, other: Any) -> None:
    assert identify([one]) == identify([other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (condition("a", "is", "x"), condition("b", "is", "x")),
        (condition("a", "is", "x"), condition("a", "is not", "x")),
        (condition("a", "is", "x"), condition("a", "contains", "x")),
        (condition("a", ">", 5), condition("a", "≥", 5)),
        (condition("a", "after", "2025-12-31"), condition("a", "before", "2025-12-31")),
        (condition("a", "after", "2025-12-31"), condition("a", "after", "2025-12-31T00:00:02Z")),
        (condition("a", "empty"), condition("a", "not empty")),
    ],
)
def test_conditions_that_differ_are_two(one: Any, other: Any) -> None:
    assert identify([one]) != identify([other])


def attempt(expected: list[Any], found: list[Any], **more: Any) -> Attempt:
    question = Question(
        id="q",
        language="en",
        shape="s",
        today=date(2026, 3, 18),
        fields={},
        query="?",
        expected=expected,
    )
    return Attempt(question=question, found=found, seconds=0.1, **more)


A, B, C = (condition(name, "is", "x") for name in "abc")


def test_the_figures() -> None:
    assert score(
        [
            attempt([A, B], [B, A]),
            attempt([A], [A, C], dropped=2),
            attempt([A, B], [A]),
            attempt([], []),
            attempt([], [C]),
            attempt([], [], failure="late"),
        ]
    ) == {
        "questions": 6,
        "exact": 0.3333,
        "precision": 0.6667,
        "recall": 0.8,
        "left_alone": 0.3333,
        "failures": 1,
        "dropped": 2,
    }


def test_what_can_not_be_counted_is_no_figure() -> None:
    figures = score([attempt([], [])])
    assert (figures["precision"], figures["recall"], figures["left_alone"]) == (None, None, 1.0)
    assert score([attempt([A], [A])])["left_alone"] is None
