import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import RerankerFailed
from shared.models.scores import hold_score, logistic, read_scores


def item(index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, "relevance_score": score}


def read(items: Any, count: int = 2, **more: Any) -> list[float]:
    return read_scores("m", items, "relevance_score", count, **more)


def test_scores_come_in_the_order_of_the_passages() -> None:
    assert read([item(1, 0.75), item(0, 0.25)]) == [0.25, 0.75]
    assert read([], 0) == []


def test_what_else_an_item_holds_is_nothing_to_us() -> None:
    items = [item(0, 1) | {"document": {"text": "another"}}, item(1, 0) | {"index_": 0}]
    assert read(items) == [1.0, 0.0]


@pytest.mark.parametrize(
    "items",
    [
        None,
        {},
        "scores",
        [0.5, 0.5],
        [],
        [item(0, 0.5)],
        [item(0, 0.5), None],
        [item(0, 0.5), item(0, 0.5)],
        [item(0, 0.5), item(2, 0.5)],
        [item(0, 0.5), item(-1, 0.5)],
        [item(0, 0.5), item("1", 0.5)],
        [item(0, 0.5), item(True, 0.5)],
        [item(0, 0.5), item(1.0, 0.5)],
        [item(0, 0.5), item([1], 0.5)],
        [item(0, 0.5), item(1, 0.5), item(1, 0.5)],
        [item(0, 0.5), item(1, 0.5), item(2, 0.5)],
        [item(0, 0.5), {"index": 1}],
        [item(0, 0.5), item(1, None)],
        [item(0, 0.5), item(1, "0.5")],
        [item(0, 0.5), item(1, True)],
        [item(0, 0.5), item(1, [0.5])],
        [item(0, 0.5), item(1, 10**400)],
        [item(0, 0.5), item(1, -4.2)],
        [item(0, 0.5), item(1, 1.1)],
        json.loads('[{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": NaN}]'),
        json.loads(
            '[{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 1e999}]'
        ),
    ],
    ids=repr,
)
def test_h03_an_answer_that_does_not_score_each_passage_once_is_a_failure(items: Any) -> None:
    with pytest.raises(RerankerFailed, match=r"^m gave"):
        read(items)


def test_h03_logits_are_scores_only_where_they_are_told_to_be() -> None:
    assert read([item(0, -4.2), item(1, 0)], are_logits=True) == pytest.approx(
        [0.014774, 0.5], abs=1e-6
    )
    with pytest.raises(RerankerFailed, match="outside 0 to 1"):
        read([item(0, -4.2), item(1, 0)])


def test_the_rounding_of_a_32_bit_float_is_no_failure() -> None:
    assert hold_score("m", 1.0000001) == 1.0
    assert hold_score("m", -1e-8) == 0.0
    with pytest.raises(RerankerFailed):
        hold_score("m", 1.00001)


@given(st.floats(-1e308, 1e308), st.floats(-1e308, 1e308))
def test_the_logistic_function_keeps_the_order_and_the_range(one: float, other: float) -> None:
    assert 0 <= logistic(one) <= 1
    if one <= other:
        assert logistic(one) <= logistic(other)
    assert logistic(one) + logistic(-one) == pytest.approx(1)


@given(st.floats(-30, 30))
def test_the_logistic_function_is_that_of_its_formula(logit: float) -> None:
    assert logistic(logit) == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-12)
