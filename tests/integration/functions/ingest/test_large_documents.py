"""Documents of more chunks than are embedded, stored and written at once."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from functions.ingest import pipeline, publish
from shared.errors import DocumentRefused, EmbedderRefused
from shared.model import IndexingStatus
from tests.integration.functions.ingest.test_pipeline import assert_in_step, crash
from tests.integration.functions.ingest.world import Crash, World

TEXTS = ["one", "two", "three", "four", "five", "six", "seven"]
CALLS = 12
"""More than there are: of the embedder four, of the index ensure, four upserts and a refresh."""


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "AT_ONCE", 2)
    monkeypatch.setattr(publish, "AT_ONCE", 2)


@pytest.fixture
def world(database: Engine) -> World:
    return World(database)


def count_unused(world: World) -> int:
    [(count,)] = world.rows(
        "SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id"
        " WHERE d.dataset_id = :dataset AND NOT EXISTS"
        " (SELECT FROM chunk_memberships m WHERE m.chunk_id = c.id)"
    )
    return int(count)


def test_it_goes_in_whole_part_by_part(world: World) -> None:
    world.work(world.put("a", *TEXTS))
    assert world.live_texts("a") == TEXTS
    assert world.embedder.passages == TEXTS
    assert [world.calls.names.count(each) for each in ("embed", "upsert", "refresh")] == [4, 4, 1]
    assert_in_step(world)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", range(CALLS))
def test_what_was_embedded_before_a_crash_is_not_embedded_again(
    world: World, call: int, after: bool
) -> None:
    change = world.put("a", *TEXTS)
    world.calls.plan(call, crash, after=after)
    try:
        world.work(change)
    except Crash:
        world.settle()
    assert world.live_texts("a") == TEXTS
    assert len(world.embedder.passages) <= len(TEXTS) + 2  # those that nobody stored in time
    assert count_unused(world) == 0
    assert_in_step(world)


def test_a_part_that_is_refused_leaves_nothing_of_the_others(world: World) -> None:
    def refuse() -> None:
        raise EmbedderRefused("the third text is too long")

    world.work(world.put("a", "old"))
    change = world.put("a", *TEXTS)
    world.calls.plan(2, refuse)
    with pytest.raises(DocumentRefused, match="too long"):
        world.work(change)
    assert world.find("a").indexing_status is IndexingStatus.ERROR
    assert count_unused(world) == 0
    assert world.live_texts("a") == ["old"]


@pytest.mark.parametrize("way", ["newer", "delete"])
@pytest.mark.parametrize("call", range(CALLS))
def test_who_is_overtaken_meanwhile_stops(world: World, call: int, way: str) -> None:
    ways: dict[str, Callable[[], None]] = {
        "newer": lambda: world.work(world.put("a", "two", "new", "seven")),
        "delete": lambda: world.work(world.delete("a")),
    }
    change = world.put("a", *TEXTS)
    world.calls.plan(call, ways[way])
    world.work(change)
    is_overtaken = call < CALLS - 2
    world.settle()
    if is_overtaken:
        assert world.live_texts("a") == (["two", "new", "seven"] if way == "newer" else [])
        assert count_unused(world) == 0
    assert_in_step(world)


@pytest.mark.parametrize("call", range(CALLS))
def test_two_workers_at_one_end_as_one_would(world: World, call: int) -> None:
    change = world.put("a", *TEXTS)
    world.calls.plan(call, lambda: world.work(change))
    world.work(change)
    world.settle()
    assert world.live_texts("a") == TEXTS
    assert count_unused(world) == 0
    assert_in_step(world)
