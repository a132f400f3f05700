"""Reindex on the real PostgreSQL: whatever happens meanwhile, the new index has it as well.

The index is one in memory, whose every call can be interrupted.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from sqlalchemy import text

from functions.reconcile import reindex as module
from functions.reconcile import window
from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.reindex import reindex
from shared.errors import Conflict, DocumentRefused, IndexUnavailable
from shared.model import Change, EmbeddingSpace, IndexedChunk
from shared.postgres.builds import only_builder, read_build
from shared.postgres.engine import connect, read, transaction
from tests.fakes.chunks import InMemoryBuilder
from tests.integration.functions.ingest.world import Crash, World
from tests.integration.functions.reconcile.test_pipeline import assert_in_step, drop, write
from tests.servers.server import wait_for

STEPS = 12


class WatchedBuilder(InMemoryBuilder):
    """A builder whose calls are counted with the index's own."""

    def __init__(self, world: World) -> None:
        super().__init__(world.index)
        self._calls = world.calls

    def begin(self, space: EmbeddingSpace) -> None:
        self._calls.pass_through("begin", lambda: super(WatchedBuilder, self).begin(space))

    def put_live(self, space: EmbeddingSpace) -> None:
        self._calls.pass_through("put_live", lambda: super(WatchedBuilder, self).put_live(space))

    def finish(self, space: EmbeddingSpace) -> None:
        self._calls.pass_through("finish", lambda: super(WatchedBuilder, self).finish(space))


@pytest.fixture
def builder(world: World) -> WatchedBuilder:
    return WatchedBuilder(world)


@pytest.fixture
def rebuild(world: World, builder: WatchedBuilder) -> Callable[[], None]:
    def rebuild() -> None:
        reindex(world.engine, world.index, builder)

    return rebuild


def list_both(world: World) -> tuple[list[str], int]:
    held = world.index._written[world.dataset.space]
    return sorted(held), sum(chunk.index_version for chunk in held.values())


def is_building(world: World) -> bool:
    with read(world.engine) as connection:
        return read_build(connection, world.dataset.space).is_under_way


def is_locked(world: World) -> bool:
    with read(world.engine) as connection:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 8461729"
        database = "SELECT oid FROM pg_database WHERE datname = current_database()"
        return bool(connection.scalar(text(f"{held} AND database = ({database})")))


def assert_done(world: World, builder: WatchedBuilder) -> None:
    assert_in_step(world)
    assert builder.list_leftovers([world.dataset.space]) == []
    assert not is_building(world)


def test_the_new_index_holds_what_the_old_one_held_and_nothing_is_embedded(
    world: World, builder: WatchedBuilder, rebuild: Callable[[], None]
) -> None:
    world.work(world.put("a", "one", "two"))
    world.work(world.put("b", "three"))
    world.change("b", enabled=False)
    world.work(world.put("c", "gone"))
    world.work(world.delete("c"))
    old, held = world.index._written[world.dataset.space], list_both(world)
    embedded = list(world.embedder.passages)
    rebuild()
    assert world.index._written[world.dataset.space] is not old
    assert list_both(world) == held
    assert_done(world, builder)
    assert world.embedder.passages == embedded
    assert world.calls.names.count("put_live") == 1


def test_what_the_old_index_lacked_or_had_too_much_is_right_in_the_new_one(
    world: World, builder: WatchedBuilder, rebuild: Callable[[], None]
) -> None:
    world.work(world.put("a", "one", "two"))
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)
    drop(world, world.live_ids()[0])
    rebuild()
    assert_done(world, builder)


def test_many_pages_are_copied_in_order(
    world: World,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window, "PAGE", 3)
    monkeypatch.setattr(module, "BATCH", 2)
    for name in "abcd":
        world.work(world.put(name, *(f"{name}{n}" for n in range(5))))
    rebuild()
    assert_done(world, builder)


WAYS: dict[str, Callable[[World], Change | None]] = {
    "create": lambda world: world.put("b", "four", "five"),
    "update": lambda world: world.put("a", "one", "four"),
    "leave": lambda world: world.put("a", "four"),
    "delete": lambda world: world.delete("a"),
}
EXPECTED = {
    "create": ["one", "two", "three"],
    "update": ["one", "four"],
    "leave": ["four"],
    "delete": [],
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
@pytest.mark.parametrize("way", WAYS)
def test_what_a_worker_does_in_the_middle_of_a_build_is_in_the_new_index(
    world: World,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    way: str,
    step: int,
    after: bool,
) -> None:
    world.work(world.put("a", "one", "two", "three"))
    world.calls.plan(step, lambda: world.work(WAYS[way](world)), after=after)
    rebuild()
    is_done = len(world.sent) == 2
    world.calls.forget()
    assert world.live_texts("a") == (EXPECTED[way] if is_done else ["one", "two", "three"])
    assert_done(world, builder)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(6))
@pytest.mark.parametrize("way", WAYS)
def test_a_build_in_the_middle_of_a_workers_steps_loses_nothing_of_them(
    world: World,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    way: str,
    step: int,
    after: bool,
) -> None:
    world.work(world.put("a", "one", "two", "three"))
    change = WAYS[way](world)
    world.calls.plan(step, rebuild, after=after)
    world.work(change)
    world.calls.forget()
    assert world.live_texts("a") == EXPECTED[way]
    assert_done(world, builder)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(6))
@pytest.mark.parametrize("way", WAYS)
def test_a_build_that_begins_in_the_middle_of_a_workers_steps_and_ends_later(
    world: World,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    way: str,
    step: int,
    after: bool,
) -> None:
    world.work(world.put("a", "one", "two", "three"))
    change = WAYS[way](world)

    def die_before_it_is_live() -> None:
        waiting = len(world.calls.names)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(builder, "put_live", crash)
            with pytest.raises(Crash):
                rebuild()
        assert len(world.calls.names) > waiting

    world.calls.plan(step, die_before_it_is_live, after=after)
    world.work(change)
    world.calls.forget()
    rebuild()
    assert world.live_texts("a") == EXPECTED[way]
    assert_done(world, builder)


def crash(*_: object) -> None:
    raise Crash


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
def test_o11_a_build_that_dies_is_gone_on_with_by_the_next(
    world: World,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    step: int,
    after: bool,
) -> None:
    world.work(world.put("a", "one", "two"))
    world.calls.plan(step, crash, after=after)
    with suppress(Crash):
        rebuild()
    world.calls.forget()
    world.work(world.put("a", "one", "three"))  # the service goes on meanwhile
    assert world.index.list_ids(world.dataset.id) == world.live_ids()
    rebuild()
    assert_done(world, builder)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_repair_in_the_middle_of_a_build_is_in_the_new_index(
    world: World,
    parts: Parts,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    step: int,
    after: bool,
) -> None:
    world.work(world.put("a", "one", "two"))
    drop(world, world.live_ids()[0])

    def repair() -> None:
        reconcile(parts)

    world.calls.plan(step, repair, after=after)
    rebuild()
    world.calls.forget()
    assert_done(world, builder)


def test_a_flip_that_is_under_way_is_waited_for(
    world: World, builder: WatchedBuilder, rebuild: Callable[[], None]
) -> None:
    """A writer that has not written to both is through before the first page is read."""
    change = world.put("a", "one")
    building = threading.Thread(target=rebuild)
    with transaction(world.engine) as connection:
        # As a flip holds it, from before the build begins.
        connection.execute(text("SELECT pg_advisory_xact_lock_shared(8461728)"))
        building.start()
        building.join(0.5)
        assert building.is_alive()
        assert not is_building(world)
    building.join(20)
    assert not building.is_alive()
    world.work(change)
    assert_done(world, builder)


def test_two_builders_at_once_are_refused(
    world: World, builder: WatchedBuilder, rebuild: Callable[[], None]
) -> None:
    world.work(world.put("a", "one"))
    with only_builder(world.engine), pytest.raises(Conflict, match="another reindex"):
        rebuild()
    wait_for(lambda: not is_locked(world))  # once the server sees that the connection is gone
    rebuild()
    assert_done(world, builder)


def test_a_builder_whose_connection_is_gone_keeps_nobody_out(
    world: World, builder: WatchedBuilder, rebuild: Callable[[], None]
) -> None:
    other = connect(world.engine.url.render_as_string(hide_password=False), timeout=5)
    with only_builder(other):
        with read(world.engine) as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid, 10000)"  # waits until it has ended
                    " FROM pg_locks JOIN pg_database ON pg_database.oid = database"
                    " WHERE locktype = 'advisory' AND objid = 8461729"
                    " AND datname = current_database()"
                )
            )
        rebuild()
    assert_done(world, builder)
    other.dispose()


def test_a_chunk_that_the_new_index_never_takes_keeps_no_other_out(
    world: World,
    parts: Parts,
    builder: WatchedBuilder,
    rebuild: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world.work(world.put("a", *(f"chunk {n}" for n in range(5))))
    ids = world.live_ids()
    building = world.index.building
    upsert = building.upsert

    def refuse_one(space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        if any(chunk.id == ids[2] for chunk in chunks):
            raise DocumentRefused("internal", "immense term")
        upsert(space, chunks)

    monkeypatch.setattr(building, "upsert", refuse_one)
    rebuild()
    assert world.index.list_ids(world.dataset.id) == [*ids[:2], *ids[3:]]
    assert reconcile(parts)[0].sum().missing == 1
    assert_done(world, builder)


def test_an_index_that_never_comes_into_step_is_not_put_live(
    world: World,
    rebuild: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world.work(world.put("a", "one"))
    monkeypatch.setattr(world.index.building, "upsert", lambda *_: None)
    with pytest.raises(IndexUnavailable, match="into step"):
        rebuild()
    assert "put_live" not in world.calls.names
    assert world.index.list_ids(world.dataset.id) == world.live_ids()


def test_a_reconcile_names_the_index_that_a_dead_builder_left(
    world: World, builder: WatchedBuilder, rebuild: Callable[[], None], parts: Parts
) -> None:
    world.work(world.put("a", "one"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "put_live", crash)
        with pytest.raises(Crash):
            rebuild()
    report, _ = reconcile(parts)
    assert report.leftovers == builder.list_leftovers([world.dataset.space]) != []
    rebuild()
    assert reconcile(parts)[0].leftovers == []
