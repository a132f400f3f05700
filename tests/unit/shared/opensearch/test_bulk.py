import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import IndexUnavailable
from shared.opensearch import bulk
from shared.opensearch.bulk import Outcome, Write
from tests.fakes.build import chunk


def write(size: int, chunk_id: str = "c") -> Write:
    return Write(chunk_id, is_delete=False, lines=b"x" * size)


@given(st.lists(st.integers(1, 3_000_000), max_size=30))
def test_split_keeps_every_write_in_order_and_every_request_small(sizes: list[int]) -> None:
    writes = [write(size) for size in sizes]
    batches = list(bulk.split(writes))
    assert [one for batch in batches for one in batch] == writes
    assert all(0 < len(batch) <= bulk.MOST_WRITES for batch in batches)
    assert all(sum(len(one.lines) for one in batch) <= bulk.MOST_BYTES for batch in batches)


def test_i09_1201_writes_are_three_requests() -> None:
    batches = bulk.split([write(10) for _ in range(1201)])
    assert [len(batch) for batch in batches] == [500, 500, 201]


def test_a_write_over_the_limit_goes_alone() -> None:
    batches = list(bulk.split([write(1), write(bulk.MOST_BYTES + 1), write(1)]))
    assert [len(batch) for batch in batches] == [1, 1, 1]


def test_size_is_counted_in_bytes() -> None:
    few = bulk.upsert(chunk("c", "知" * (bulk.MOST_BYTES // 4)))
    assert [len(batch) for batch in bulk.split([few, few])] == [1, 1]


def test_an_upsert_carries_its_own_version_and_keeps_its_script() -> None:
    action, source = bulk.upsert(chunk("c", "知识", version=7)).lines.splitlines()
    assert json.loads(action) == {"index": {"_id": "c", "version": 7, "version_type": "external"}}
    assert "知识" in source.decode()


def test_a_float32_goes_out_as_the_number_that_it_is() -> None:
    numbers = (0.1, -1e-30, 16777217.0)
    _, source = bulk.upsert(chunk("c", "", numbers)).lines.splitlines()
    assert b"[0.1," in source
    assert np.array_equal(
        np.array(json.loads(source)["vector"], np.float32), np.array(numbers, np.float32)
    )


def test_deletes_are_led_by_an_update_that_carries_the_demand_for_an_alias() -> None:
    lines = bulk.bulk_body([bulk.delete("c", 7)]).splitlines()
    assert [json.loads(line) for line in lines] == [
        {"update": {"_id": "guard"}},
        {"doc": {}},
        {"delete": {"_id": "c", "version": 7, "version_type": "external"}},
    ]
    assert b"update" not in bulk.bulk_body([bulk.upsert(chunk("c"))])


def item(
    status: int, kind: str | None = None, action: str = "index", cause: str | None = None
) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": status}
    if kind is not None:
        answer["error"] = {"type": kind, "reason": "why"}
    if cause is not None:
        answer["error"]["caused_by"] = {"type": cause, "reason": "why"}
    return {action: answer}


@pytest.mark.parametrize(
    ("answered", "outcome", "reason"),
    [
        (item(201), Outcome.DONE, ""),
        (item(200), Outcome.DONE, ""),
        (item(409, "version_conflict_engine_exception"), Outcome.DONE, None),
        (item(404, "index_not_found_exception"), Outcome.INDEX_MISSING, None),
        (item(404, "shard_not_found_exception"), Outcome.FAILED, "shard_not_found_exception"),
        (item(429, "rejected_execution_exception"), Outcome.BUSY, None),
        (item(503, "unavailable_shards_exception"), Outcome.BUSY, None),
        (item(400, "mapper_parsing_exception"), Outcome.REFUSED, "mapper_parsing_exception: why"),
        (item(500, "io_exception"), Outcome.FAILED, "io_exception"),
        (item(403, "security_exception"), Outcome.FAILED, "security_exception"),
        (item(302), Outcome.FAILED, None),
        (item(400, "index_closed_exception"), Outcome.FAILED, "index_closed_exception"),
        (
            item(400, "mapper_parsing_exception", cause="knn_circuit_breaker_exception"),
            Outcome.FAILED,
            "knn_circuit_breaker_exception",
        ),
        (item(400, "x", cause="illegal_state_exception"), Outcome.FAILED, None),
        (item(400, "x", cause="number_format_exception"), Outcome.REFUSED, "x: why"),
    ],
)
def test_every_item_of_an_upsert_is_read(
    answered: dict[str, Any], outcome: Outcome, reason: str | None
) -> None:
    (result,) = bulk.read_results({"items": [answered]}, [write(1)])
    assert result.outcome is outcome
    if reason is not None:
        assert result.reason == reason


@pytest.mark.parametrize(
    ("answered", "outcome"),
    [
        (item(200, action="delete"), Outcome.DONE),
        (item(404, action="delete"), Outcome.DONE),
        (item(404, "index_not_found_exception", "delete"), Outcome.DONE),
        (item(409, "version_conflict_engine_exception", "delete"), Outcome.DONE),
        (item(429, "rejected_execution_exception", "delete"), Outcome.BUSY),
        (item(400, "illegal_argument_exception", "delete"), Outcome.FAILED),
    ],
)
def test_every_item_of_a_delete_is_read(answered: dict[str, Any], outcome: Outcome) -> None:
    guard = item(404, "document_missing_exception", "update")
    (result,) = bulk.read_results({"items": [guard, answered]}, [bulk.delete("c", 1)])
    assert result.outcome is outcome


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"items": []},
        {"items": None},
        {"items": [{}]},
        {"items": [{"index": {}}]},
        {"items": [{"index": {"status": None}}]},
        {"items": [{"index": {"status": 400, "error": {}}}]},
        {"items": [item(201), item(201)]},
    ],
)
def test_an_answer_that_does_not_tell_of_every_write_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(IndexUnavailable):
        bulk.read_results(wrong, [write(1)])
