import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ChangeMalformed
from shared.model import Action, Change
from shared.queue.messages import parse_change, read_change, write_change

T, D, X = (str(uuid.UUID(int=n)) for n in (1, 2, 3))
GOOD: dict[str, Any] = {
    "schema": 1,
    "tenant_id": T,
    "dataset_id": D,
    "document_id": X,
    "version": 7,
    "action": "process",
}
ids = st.uuids().map(str)
changes = st.builds(
    Change, ids, ids, ids, st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from(Action)
)


@given(changes)
def test_every_change_comes_back(change: Change) -> None:
    assert read_change(write_change(change)) == change


def test_the_message_is_schema_1() -> None:
    message = json.loads(write_change(Change(T, D, X, 7, Action.PROCESS)))
    assert message == GOOD


@pytest.mark.parametrize("field", GOOD)
def test_a_missing_field_is_refused(field: str) -> None:
    message = {name: value for name, value in GOOD.items() if name != field}
    with pytest.raises(ChangeMalformed, match=field):
        parse_change(message)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"schema": 0},
        {"schema": "1"},
        {"schema": 1.0},
        {"schema": True},
        {"schema": None},
        {"tenant_id": 1},
        {"tenant_id": ""},
        {"tenant_id": None},
        {"tenant_id": "default"},
        {"dataset_id": f"{{{D}}}"},
        {"dataset_id": D.replace("-", "")},
        {"document_id": f"{X}\0"},
        {"document_id": "\ud800"},
        {"document_id": [X]},
        {"document_id": {"id": X}},
        {"version": "7"},
        {"version": 7.0},
        {"version": True},
        {"version": None},
        {"version": 2**63},
        {"version": -(2**63)},
        {"version": float("nan")},
        {"action": "Process"},
        {"action": "PROCESS"},
        {"action": ""},
        {"action": None},
        {"action": 1},
        {"action": ["process"]},
        {"content": "text"},
        {"\ud800": 1},
    ],
    ids=repr,
)
def test_another_value_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ChangeMalformed) as refused:
        parse_change(GOOD | change)
    str(refused.value).encode()
    with pytest.raises(ChangeMalformed):
        read_change(json.dumps(GOOD | change))


@pytest.mark.parametrize(
    "body",
    ["", "not json", "null", "1", '"x"', "[]", "{}", "[" * 200_000, '{"schema": 1', "9" * 5000],
    ids=lambda body: body[:12],
)
def test_what_is_no_message_is_refused(body: str) -> None:
    with pytest.raises(ChangeMalformed):
        read_change(body)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_nothing_but_changes_is_a_change(value: object) -> None:
    with pytest.raises(ChangeMalformed):
        parse_change(value)
    for field in GOOD:
        with pytest.raises(ChangeMalformed):
            parse_change(GOOD | {field: value})
