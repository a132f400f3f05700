import json
from collections.abc import Mapping
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from local.commands.demo import EXAMPLES
from local.conditions import describe_filter
from shared.errors import InvalidRequest
from shared.metadata.parse import parse_filter
from shared.metadata.where import parse_where


def test_a_filter_reads_like_a_sentence() -> None:
    filtering = {
        "logical_operator": "AND",
        "conditions": [
            {"name": "public", "comparison_operator": "is", "value": True},
            {"name": "author", "comparison_operator": "empty"},
            {
                "logical_operator": "or",
                "conditions": [
                    {"name": "tags", "comparison_operator": "in", "value": ["a", 3]},
                    {"name": "kind", "comparison_operator": "is", "value": "{{kind}}"},
                ],
            },
            {
                "logical_operator": "not",
                "conditions": [{"name": "year", "comparison_operator": "<", "value": 2026}],
            },
        ],
        "inputs": {"kind": "报告"},
    }
    assert describe_filter(filtering) == (
        "public is true and author empty and (tags in [a, 3] or kind is {{kind}}) "
        "and not (year < 2026); inputs kind = 报告"
    )


NAMES = st.sampled_from(
    ["lang", "a b", "and", "Not", "is", "empty", 'q"\\', "é🙂", "a=b"]
) | st.text(min_size=1, max_size=4)
TEXTS = (
    st.sampled_from(["5", "007", "true", "null", "a, b", "]", " ", "'", "x!", "1.0"]) | st.text()
)
SCALARS = (
    TEXTS.filter(lambda text: "{{" not in text)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
)
EQUALITIES = ["is", "=", "==", "is not", "≠", "!=", "in", "not in"]


def conditions(operators: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"name": NAMES, "comparison_operator": st.sampled_from(operators), "value": values}
    )


LEAVES = (
    conditions(EQUALITIES, SCALARS | st.lists(SCALARS, max_size=3))
    | conditions(
        ["contains", "not contains", "start with", "end with"],
        TEXTS.filter(lambda text: bool(text) and "{{" not in text) | st.integers(),
    )
    | conditions([">", "<", "≥", "≤", ">=", "<="], st.integers() | st.sampled_from([0.5, " 5 "]))
    | conditions(["before", "after"], st.sampled_from([5, "2025-04-09", "2025-04-09 11:52"]))
    | st.fixed_dictionaries(
        {"name": NAMES, "comparison_operator": st.sampled_from(["empty", "not empty"])}
    )
)


def groups(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Several members joined, or one denied: one member alone needs no group."""
    joined = st.fixed_dictionaries(
        {
            "logical_operator": st.sampled_from(["and", "or", "AND"]),
            "conditions": st.lists(members, min_size=2, max_size=3),
        }
    )
    denied = st.fixed_dictionaries(
        {
            "logical_operator": st.just("not"),
            "conditions": st.lists(members, min_size=1, max_size=1),
        }
    )
    return joined | denied


def read(filtering: Mapping[str, Any]) -> Any:
    return parse_filter(filtering["logical_operator"], filtering["conditions"], pointer="")


@given(groups(st.recursive(LEAVES, groups, max_leaves=6)))
def test_what_is_described_reads_back_as_the_same_filter(filtering: Mapping[str, Any]) -> None:
    try:
        tree = read(filtering)
    except InvalidRequest:
        assume(False)  # deeper than any filter may be
    assert read(parse_where(describe_filter(filtering))) == tree


def test_every_filter_of_the_demo_reads_back() -> None:
    queries = json.loads((EXAMPLES / "queries.json").read_text(encoding="utf-8"))
    filters = [q["request"].get("metadata_filtering") for q in queries]
    written = [each for each in filters if each and "inputs" not in each]
    assert len(written) > 3
    for each in written:
        assert read(parse_where(describe_filter(each))) == read({"logical_operator": None} | each)
