"""Types of fields, what they refuse, how they are counted, and what renaming does to metadata."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidRequest
from shared.metadata.fields import (
    BUILTIN_TYPES,
    COUNTS,
    Field,
    FieldType,
    check_name,
    check_types,
    count_changes,
    fits,
    infer,
    is_same,
    move_fields,
)
from shared.metadata.filter_values import BUILTIN_NAMES

EVERY = {*FieldType}
STRING, NUMBER, TIME, BOOLEAN, LIST = FieldType

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(["a", "b", "c", "\u00e9", "e\u0301"])
METADATA = st.dictionaries(NAMES, JSON, max_size=4).filter(
    lambda metadata: not {"\u00e9", "e\u0301"} <= metadata.keys()
)


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (None, EVERY),
        ("en", {STRING}),
        ("", {STRING}),
        (7, {NUMBER, TIME}),
        (1.5, {NUMBER, TIME}),
        (" 7 ", {STRING, NUMBER, TIME}),
        ("1_000", {STRING}),
        (10**20, {NUMBER}),
        (True, {BOOLEAN}),
        ("true", {STRING, BOOLEAN}),
        ("True", {STRING}),
        ("2025-04-09", {STRING, TIME}),
        ("2025-02-30", {STRING}),
        ([], {LIST}),
        ([1, "a"], {LIST}),
        ({"x": 1}, set()),
    ],
)
def test_a17_a_value_fits_what_filters_read_it_as(value: Any, kinds: set[FieldType]) -> None:
    assert {kind for kind in FieldType if fits(kind, value)} == kinds


@pytest.mark.parametrize("value", [1744199565, 1744199565.0, 1744199565000, "1744199565"])
def test_b05_every_way_to_write_an_instant_fits_time(value: Any) -> None:
    assert fits(TIME, value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, None),
        ("", None),
        ("\u3000", None),
        ({}, None),
        ({"x": 1}, None),
        (False, BOOLEAN),
        (0, NUMBER),
        (1.5, NUMBER),
        ([], LIST),
        ("en", STRING),
        ("007", STRING),
        ("true", STRING),
        ("2025-04-09", TIME),
        ("2025-04-09T11:52:45Z", TIME),
    ],
)
def test_a_value_tells_its_type(value: Any, kind: FieldType | None) -> None:
    assert infer(value) == kind


@given(JSON)
def test_a_value_fits_the_type_that_it_tells(value: Any) -> None:
    kind = infer(value)
    # A number may be too large to be compared as one.
    assert kind is None or kind is NUMBER or fits(kind, value)


def test_a_summary_is_in_words() -> None:
    assert Field("x", NUMBER, declared=False, values=6, misfits=1).summarize() == (
        "inferred: number, 1 of 6 values do not fit"
    )
    assert Field("x", TIME, declared=True, values=6).summarize() == "declared: time"


def test_built_in_fields_have_types() -> None:
    assert BUILTIN_TYPES.keys() == BUILTIN_NAMES


def test_a_name_is_in_nfc_and_has_limits() -> None:
    assert check_name("e\u0301", "/name") == "\u00e9"
    assert check_name("x" * 255, "/name")
    for name in ("", "x" * 256, "uploader"):
        with pytest.raises(InvalidRequest) as caught:
            check_name(name, "/name")
        assert [problem.pointer for problem in caught.value.problems] == ["/name"]
        assert caught.value.problems[0].detail


def test_only_declared_types_refuse_and_every_misfit_is_named() -> None:
    metadata = {"n": "x", "a/b": True, "e\u0301": [], "null": None, "free": {"x": 1}}
    declared = {"n": NUMBER, "a/b": STRING, "\u00e9": TIME, "null": NUMBER, "missing": LIST}
    with pytest.raises(InvalidRequest) as caught:
        check_types(metadata, declared, "/metadata")
    pointers = [problem.pointer for problem in caught.value.problems]
    assert pointers == ["/metadata/n", "/metadata/a~1b", "/metadata/e\u0301"]
    assert "number" in caught.value.problems[0].detail
    check_types(metadata, {}, "/metadata")
    check_types(None, declared, "/metadata")


def test_moving_renames_deletes_and_leaves_no_null_behind() -> None:
    metadata = {"a": 1, "b": None, "c": [2]}
    assert move_fields(metadata, {"a": "z", "b": "y"}) == {"z": 1, "y": None, "c": [2]}
    assert move_fields(metadata, {"a": None}) == {"b": None, "c": [2]}
    assert move_fields(metadata, {}) == metadata


def test_moving_finds_a_name_in_every_unicode_form() -> None:
    assert move_fields({"e\u0301": 1}, {"\u00e9": "e"}) == {"e": 1}
    assert move_fields({"x": 1, "e\u0301": 2}, {"x": "\u00e9"}) == {"e\u0301": 2}


@given(METADATA, st.dictionaries(st.sampled_from("ab"), st.none() | st.just("d")))
def test_moving_again_changes_nothing_more(
    metadata: dict[str, Any], moves: dict[str, str | None]
) -> None:
    moved = move_fields(metadata, moves)
    assert not moves.keys() & moved.keys()
    assert move_fields(moved, moves) == moved
    assert {n: v for n, v in moved.items() if n != "d"} == {
        n: v for n, v in metadata.items() if n not in moves
    }


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": None}, {}, False),
        ({"a": False}, {"a": 0}, False),
        ({"a": [1]}, {"a": [1, 1]}, False),
        ({"a": "1"}, {"a": 1}, False),
    ],
)
def test_a17_true_is_not_one(one: Any, other: Any, expected: bool) -> None:
    assert is_same(one, other) is is_same(other, one) is expected


def test_what_is_counted_of_a_field() -> None:
    assert count_changes([({}, {"n": None}), ({}, {"n": "5"})]) == [
        {"name": "n", "type": STRING, "documents": 2}
        | {"fit_string": 2, "fit_number": 2, "fit_time": 2, "fit_boolean": 1, "fit_list": 1}
    ]
    assert count_changes([({"n": 1}, {"n": 2})]) == []
    [changed] = count_changes([({"n": 1}, {"n": True})])
    assert [changed[each] for each in COUNTS] == [0, 0, -1, -1, 1, 0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["x", 5], STRING), ([5, "x"], NUMBER), ([None, True, "x"], BOOLEAN), (["x", None], STRING)],
)
def test_the_first_value_that_tells_a_type_decides(values: list[Any], kind: FieldType) -> None:
    [counted] = count_changes([({}, {"f": value}) for value in values])
    assert counted["type"] is kind


@given(st.lists(METADATA, min_size=1, max_size=5))
def test_counts_of_changes_add_up_to_those_of_the_last(history: list[dict[str, Any]]) -> None:
    def total(counts: list[dict[str, Any]]) -> dict[str, list[int]]:
        return {each["name"]: [each[count] for count in COUNTS] for each in counts}

    steps = list(zip([{}, *history], history, strict=False))
    assert total(count_changes(steps)) == total(count_changes([({}, history[-1])]))
    single: dict[str, list[int]] = {}
    for step in steps:
        for name, counts in total(count_changes([step])).items():
            single[name] = [a + b for a, b in zip(single.get(name, [0] * 6), counts, strict=True)]
    assert {n: c for n, c in single.items() if any(c)} == total(count_changes(steps))
