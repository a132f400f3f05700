"""The normalised copy, and what metadata is refused."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidRequest
from shared.metadata.filter_values import (
    BUILTIN_NAMES,
    Builtins,
    filter_values,
    read_fields,
    validate_metadata,
)

BUILTINS = Builtins(
    document_name="handbook.md",
    uploader="ci",
    upload_date=datetime(2025, 4, 9, 11, 52, 45, 123456, tzinfo=UTC),
    last_update_date=datetime(2025, 4, 9, 11, 52, 45, tzinfo=UTC),
    source=None,
)


def test_each_value_is_read_in_every_way_it_reads() -> None:
    fields = {
        "text": "e\u0301",
        "number": 5.0,
        "numeric": " 5 ",
        "boolean": True,
        "date": "1970-01-02",
        "list": ["a", 1, True, None, "2", ["deep"], {"x": 1}],
        "object": {"x": 3},
        "null": None,
        "nothing": "",
        "blank": " \u3000",
        "no elements": [],
        "no members": {},
        "list of nothing": [""],
    }
    assert read_fields(fields) == {
        "filled": [
            "text",
            "number",
            "numeric",
            "boolean",
            "date",
            "list",
            "object",
            "list of nothing",
        ],
        "values": {
            "text": ["\xe9"],
            "number": [5],
            "numeric": [" 5 "],
            "date": ["1970-01-02"],
            "list": ["a", 1, "2"],
            "nothing": [""],
            "blank": [" \u3000"],
            "list of nothing": [""],
        },
        "booleans": {"boolean": [True], "list": [True]},
        "numbers": {"number": [5], "numeric": [5], "list": [1, 2]},
        "instants": {
            "number": [5_000_000],
            "numeric": [5_000_000],
            "date": [86_400_000_000],
            "list": [1_000_000, 2_000_000],
        },
    }


def test_names_are_compared_in_nfc() -> None:
    assert read_fields({"e\u0301": "a"})["values"] == {"\xe9": ["a"]}


def test_builtin_fields_filter_like_any_other() -> None:
    found = filter_values(None, BUILTINS)
    assert found["filled"] == ["document_name", "uploader", "upload_date", "last_update_date"]
    assert found["values"]["document_name"] == ["handbook.md"]
    assert found["values"]["uploader"] == ["ci"]
    assert found["instants"]["upload_date"] == [1744199565_123_456]
    assert found["numbers"]["last_update_date"] == [1744199565]


def test_the_source_filters_where_it_is_known() -> None:
    found = filter_values(None, replace(BUILTINS, source="s3://bucket/a.md"))
    assert found["values"]["source"] == ["s3://bucket/a.md"]
    assert "source" in found["filled"]


def test_fields_of_users_and_built_in_ones_stand_side_by_side() -> None:
    found = filter_values({"lang": "en"}, BUILTINS)
    assert found["values"]["lang"] == ["en"]
    assert found["values"]["uploader"] == ["ci"]


def test_builtin_fields_win_over_user_fields() -> None:
    assert filter_values({"uploader": "x"}, BUILTINS)["values"]["uploader"] == ["ci"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values))
def test_never_fails_and_is_finite_json(metadata: dict[str, Any]) -> None:
    written = json.dumps(filter_values(metadata, BUILTINS), allow_nan=False)
    assert json.loads(written) == filter_values(metadata, BUILTINS)


def nest(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels - 1):
        value = [value]
    return value


def nest_objects(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels - 1):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"i": 1, "f": 1.5, "b": True, "s": "x", "n": None, "l": ["a"], "o": {"x": {"y": 1}}},
        {f"field {number}": number for number in range(256)},
        {"n" * 255: "", "😀" * 255: ""},
        {"a": "x" * (64 * 1024 - 8)},
        {"a": "x" * (64 * 1024 - 18), "b": [1, 2]},
        {"a": "字" * 21_000},
        {"a": nest(16)},
        {"a": nest_objects(16)},
        {"a": {"k": nest(15)}},
        {"big": 10**308, "small": 5e-324},
        {"nul": "\x00", "surrogate": "\ud800", "\ud800": 1},
        {"Document_Name": 1, "document_name ": 1},
    ],
)
def test_accepts(metadata: Any) -> None:
    validate_metadata(metadata, "/metadata")


@pytest.mark.parametrize(
    ("metadata", "pointers"),
    [
        ([], ["/metadata"]),
        ("x", ["/metadata"]),
        (0, ["/metadata"]),
        (False, ["/metadata"]),
        ({f"field {number}": number for number in range(257)}, ["/metadata"]),
        ({"": 1}, ["/metadata/"]),
        ({"n" * 256: 1}, ["/metadata/" + "n" * 256]),
        ({"a/b~c": math.nan}, ["/metadata/a~1b~0c"]),
        ({"a": math.inf, "b": [1, {"c": -math.inf}]}, ["/metadata/a", "/metadata/b/1/c"]),
        ({"a": 10**400}, ["/metadata/a"]),
        ({"a": b"bytes"}, ["/metadata/a"]),
        ({"a": "x" * (64 * 1024 - 7)}, ["/metadata"]),
        ({"a": "x" * (64 * 1024 - 17), "b": [1, 2]}, ["/metadata"]),
        ({"a": "字" * 22_000}, ["/metadata"]),
        ({"a": nest(17)}, ["/metadata/a" + "/0" * 16]),
        ({"a": nest_objects(17)}, ["/metadata/a" + "/k" * 16]),
        ({"a": {"k": nest(16)}}, ["/metadata/a/k" + "/0" * 15]),
        ({"e\u0301": 1, "\xe9": 2}, ["/metadata/\xe9"]),
        *(({name: "x"}, [f"/metadata/{name}"]) for name in sorted(BUILTIN_NAMES)),
    ],
)
def test_refuses(metadata: Any, pointers: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        validate_metadata(metadata, "/metadata")
    assert [problem.pointer for problem in refusal.value.problems] == pointers
    assert all(problem.detail for problem in refusal.value.problems)


def test_refuses_deep_nesting_without_recursing_into_it() -> None:
    with pytest.raises(InvalidRequest, match="deeper than 16"):
        validate_metadata({"a": nest(100_000)}, "/metadata")


def test_names_at_most_a_hundred_problems() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        validate_metadata({"a": [math.nan] * 10_000}, "/metadata")
    assert len(refusal.value.problems) == 100


def test_the_builtin_fields() -> None:
    names = {"document_name", "uploader", "upload_date", "last_update_date", "source"}
    assert names == BUILTIN_NAMES
