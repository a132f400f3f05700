"""Calls of the function: what they answer and measure, and where they go on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.reconcile import handler, window
from functions.reconcile.parts import Parts
from shared.postgres.engine import read
from shared.postgres.places import read_place
from tests.integration.functions.ingest.world import World


class Hurried:
    """The context of a call that has time for so many pages."""

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def get_remaining_time_in_millis(self) -> int:
        self.pages -= 1
        return 300_000 if self.pages >= 0 else 1_000


@pytest.fixture
def call(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(handler, "build_parts", lambda: parts)
    monkeypatch.setattr(window, "PAGE", 2)

    def call(pages: int = 99, **event: Any) -> Any:
        context: Any = Hurried(pages)
        return handler.lambda_handler(event, context)

    return call


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """What was written for CloudWatch since it was last read."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found: dict[str, float] = {}
    for line in lines:
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
            assert directive["Namespace"] == "Winnow"
            found |= {each["Name"]: line[each["Name"]][0] for each in directive["Metrics"]}
    return found


def place(world: World) -> Any:
    with read(world.engine) as connection:
        return read_place(connection)


@pytest.fixture
def torn(world: World) -> Iterator[World]:
    world.work(world.put("a", *(f"chunk {n}" for n in range(7))))
    space = world.dataset.space
    for chunk_id in world.live_ids():
        del world.index._written[space][chunk_id]
        del world.index._versions[space, chunk_id]
    world.index._visible[space] = {}
    yield world


def test_a_call_answers_with_its_report_and_measures_it(
    torn: World, call: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = call()
    assert answer["complete"]
    assert answer["datasets"][torn.dataset.id]["missing"] == 7
    found = metrics(capsys)
    assert (found["Chunks"], found["IndexedChunks"], found["MissingChunks"]) == (7, 7, 7)
    assert (found["LeftDifferences"], found["OldestWorkAge"]) == (0, 0)
    call()
    assert metrics(capsys)["MissingChunks"] == 0
    json.dumps(answer)


def test_calls_go_on_where_the_one_before_stopped_until_all_is_done(torn: World, call: Any) -> None:
    found = [call(pages=2) for _ in range(2)]
    assert [each["complete"] for each in found] == [False, False]
    assert [each["datasets"][torn.dataset.id]["missing"] for each in found] == [4, 3]
    assert place(torn) is None
    assert call()["datasets"][torn.dataset.id]["missing"] == 0


def test_counting_alone_begins_at_the_beginning_and_leaves_the_place_as_it_is(
    torn: World, call: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    call(pages=1)
    kept = place(torn)
    assert kept is not None
    metrics(capsys)
    answer = call(dry_run=True)
    assert (answer["complete"], answer["datasets"][torn.dataset.id]["chunks"]) == (True, 7)
    assert place(torn) == kept
    assert metrics(capsys) == {}
