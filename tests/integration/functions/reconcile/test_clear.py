"""Deleted datasets, where the request that deleted them got no further than that."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from shared.errors import IndexUnavailable
from shared.model import Action
from shared.postgres import outbox, removals
from shared.postgres.engine import transaction
from shared.queue.messages import read_change
from shared.settings import DEFAULT_TENANT
from tests.fakes.queue import FakeChangeQueue
from tests.integration.functions.ingest.world import World

NAMES = [f"{n}" for n in range(5)]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "BATCH", 2)


def fill(world: World) -> None:
    for name in NAMES:
        world.work(world.put(name, f"text of {name}", "words that all have"))
    world.put("late", "not yet ingested")


def mark(world: World) -> None:
    with transaction(world.engine) as connection:
        removals.mark_deleted(connection, DEFAULT_TENANT, world.dataset.id)


def count(world: World) -> tuple[int, int, int, int]:
    """How many datasets, documents, chunks and outbox rows there are."""
    [row] = world.rows(
        "SELECT (SELECT count(*) FROM datasets), (SELECT count(*) FROM documents),"
        " (SELECT count(*) FROM chunks), (SELECT count(*) FROM outbox)"
    )
    return tuple(row)


def test_a_deleted_dataset_is_cleared_away_with_all_that_was_its(
    world: World, parts: Parts, queue: FakeChangeQueue
) -> None:
    fill(world)
    mark(world)
    reconcile(parts)
    changes = [read_change(each) for each in queue.messages]
    assert {each.action for each in changes} == {Action.DELETE}
    assert {each.document_id for each in changes} == {world.id_of(n) for n in [*NAMES, "late"]}
    world.settle()
    assert world.index.list_ids(world.dataset.id) == []
    assert not world.content.kept
    assert count(world) == (1, 6, 0, 0)
    reconcile(parts)
    assert count(world) == (0, 0, 0, 0)


def test_what_was_written_while_it_was_marked_goes_too(world: World, parts: Parts) -> None:
    fill(world)
    mark(world)
    reconcile(parts)
    world.settle()
    with transaction(world.engine) as connection:  # as one who saw the dataset before does it
        back = "UPDATE documents SET deleted_at = NULL, content_key = 'k' WHERE id = :id"
        connection.execute(text(back), {"id": world.id_of("0")})
    for _ in range(2):
        reconcile(parts)
        world.settle()
    reconcile(parts)
    assert count(world) == (0, 0, 0, 0)


def test_what_is_being_written_while_it_is_forgotten_leaves_nothing_behind(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = outbox.put

    def forget() -> None:
        with transaction(world.engine) as connection:
            removals.forget_dataset(connection, world.dataset.id)

    def put_and_wait(*args: Any) -> None:
        monkeypatch.setattr(outbox, "put", put)
        put(*args)
        mark(world)
        forgetting.append(pool.submit(forget))
        world.wait_for_lock()

    forgetting: list[Future[None]] = []
    monkeypatch.setattr(outbox, "put", put_and_wait)
    with ThreadPoolExecutor(1) as pool:
        world.put("late", "text")
        forgetting[0].result()
    for _ in range(2):
        reconcile(parts)
        world.settle()
    reconcile(parts)
    assert count(world) == (0, 0, 0, 0)
    assert not world.content.kept
    assert world.index.list_ids(world.dataset.id) == []


def test_without_time_nothing_of_it_is_begun(
    world: World, parts: Parts, queue: FakeChangeQueue
) -> None:
    fill(world)
    mark(world)
    reconcile(parts, has_time=lambda: False)
    reconcile(parts, repairs=False)
    assert queue.messages == []
    assert world.rows("SELECT count(*) FROM documents WHERE deleted_at IS NOT NULL") == [(0,)]


def test_a_dataset_stays_marked_until_the_index_has_forgotten_it(
    world: World, parts: Parts
) -> None:
    fill(world)
    mark(world)

    def fail() -> None:
        raise IndexUnavailable

    reconcile(parts)
    world.calls.plan(0, fail)  # the first call of the index: the deletion of its chunks
    waiting = {each.document_id: each for each in world.list_waiting()}
    with pytest.raises(IndexUnavailable):
        world.work(waiting[world.id_of("0")])
    reconcile(parts)
    assert count(world)[0] == 1
    world.settle()
    reconcile(parts)
    assert count(world) == (0, 0, 0, 0)
