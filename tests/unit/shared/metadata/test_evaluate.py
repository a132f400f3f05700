"""The readable definition against the rules once more, naively."""

from typing import Any

import pytest
from hypothesis import given, settings

from shared.metadata.evaluate import matches
from shared.metadata.filter_values import read_fields
from shared.metadata.parse import parse_filter
from tests.unit.shared.metadata import naive


def find(metadata: Any, name: str, operator: str, value: Any = None) -> bool:
    condition = {"name": name, "comparison_operator": operator, "value": value}
    tree = parse_filter(None, [condition], pointer="")
    assert tree is not None
    return matches(tree, read_fields(metadata))


@settings(max_examples=300, deadline=None)
@given(naive.worlds)
def test_says_the_same_as_the_rules_read_naively(
    world: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    documents, trees = world
    for tree in trees:
        parsed = parse_filter(None, [tree], pointer="")
        assert parsed is not None
        for document in documents:
            assert matches(parsed, read_fields(document)) is naive.matches(tree, document)


@pytest.mark.parametrize(
    ("stored", "operator", "value", "expected"),
    [
        (2**53 + 1, "is", 2**53, False),
        (2**53 + 1, "is", str(2**53 + 1), True),
        (True, "is", 1, False),
        (1, "is", True, False),
        (1, "in", [True], False),
        ("1", "is", True, False),
        (True, "contains", "tr", False),
        (1.50, "end with", "5", True),
        (1e-7, "contains", "e", False),
        (1e21, "start with", "1000", True),
        ([["deep"]], "is", "deep", False),
        ([["deep"]], "empty", None, False),
        ([None], "empty", None, False),
        ([""], "empty", None, False),
        ({"x": 3}, "is", 3, False),
        (" ", "is", " ", True),
        ("\u200b", "empty", None, False),
        ("\x1f", "empty", None, False),
        ("\x85\u2028", "empty", None, True),
        (0, "empty", None, False),
        (False, "empty", None, False),
        ("e\u0301", "contains", "e", False),
        ("5", "is", "5.0", False),
        (5, "is", "5.0", True),
        ("5.0", "is", 5, True),
        (["b", 9], ">", 8, True),
        (5, ">", 5, False),
        (5, "<", 5, False),
        (5, "≥", 5, True),
        (5, "≤", 5, True),
        (0, "before", "1970-01-01", False),
        (0, "after", "1970-01-01", False),
    ],
)
def test_corners(stored: Any, operator: str, value: Any, expected: bool) -> None:
    assert find({"f": stored}, "f", operator, value) is expected


@pytest.mark.parametrize(("operator", "value"), [("is", []), ("in", []), ("in", " , ")])
def test_nothing_listed_matches_nothing(operator: str, value: Any) -> None:
    assert not find({"f": "a"}, "f", operator, value)


@pytest.mark.parametrize(("operator", "value"), [("is not", []), ("not in", []), ("not in", ",")])
def test_nothing_excluded_matches_everything(operator: str, value: Any) -> None:
    assert find({"f": "a"}, "f", operator, value)
    assert find({}, "f", operator, value)
