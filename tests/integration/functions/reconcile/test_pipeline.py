"""Reconcile on the real PostgreSQL: what it repairs, what it leaves to ingest, what it never does.

The index is one in memory, whose every call can be interrupted.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from functions.reconcile import pipeline, window
from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import Place, reconcile
from functions.reconcile.report import Report, Tally
from shared.errors import DocumentRefused, IndexUnavailable
from shared.model import Action, Change, EmbeddingSpace, IndexedChunk
from shared.postgres import outbox
from shared.postgres.engine import read, transaction
from shared.postgres.versions import read_newest
from shared.queue.messages import read_change
from tests.fakes.queue import FakeChangeQueue
from tests.integration.functions.ingest.world import Crash, World


def execute(world: World, statement: str, **parameters: Any) -> None:
    with transaction(world.engine) as connection:
        connection.execute(text(statement), {"dataset": world.dataset.id} | parameters)


def run(parts: Parts, **more: Any) -> Report:
    report, place = reconcile(parts, **more)
    assert place is None
    return report


def tally(world: World, report: Report) -> Tally:
    return report.datasets[world.dataset.id]


def snapshot(world: World) -> list[Any]:
    """All that PostgreSQL holds."""
    return [
        world.rows("SELECT * FROM datasets"),
        world.rows("SELECT * FROM documents ORDER BY id"),
        world.rows("SELECT * FROM chunks ORDER BY id"),
        world.rows("SELECT * FROM chunk_memberships ORDER BY chunk_id, from_version"),
        world.rows("SELECT * FROM outbox ORDER BY document_id"),
        world.rows("SELECT * FROM reconcile_place"),
        world.rows("SELECT last_value FROM index_versions"),
    ]


def drop(world: World, *chunk_ids: str) -> None:
    """Takes chunks out of the index behind everybody's back."""
    space = world.dataset.space
    for chunk_id in chunk_ids:
        del world.index._written[space][chunk_id]
        del world.index._versions[space, chunk_id]
    world.index._visible[space] = dict(world.index._written[space])


def write(world: World, chunk_id: str, version: int, **more: Any) -> None:
    """Puts a chunk into the index in whatever version."""
    space = world.dataset.space
    some = next(iter(world.index._written[space].values()))
    chunk = replace(some, id=chunk_id, index_version=version, **more)
    world.index._written[space][chunk_id] = chunk
    world.index._versions[space, chunk_id] = version
    world.index._visible[space] = dict(world.index._written[space])


def version_of(world: World, chunk_id: str) -> int:
    version: int = world.index._written[world.dataset.space][chunk_id].index_version
    return version


def assert_in_step(world: World) -> None:
    assert world.index.list_ids(world.dataset.id) == world.live_ids()
    kept = world.rows(
        "SELECT c.id::text, c.index_version FROM chunks c JOIN documents d ON d.id = c.document_id"
        " WHERE d.dataset_id = :dataset AND c.index_version IS NOT NULL"
    )
    assert {id_: version_of(world, id_) for id_ in world.live_ids()} == dict(kept)


def assert_repaired(world: World, parts: Parts, **found: int) -> None:
    """One run finds and repairs this; the next finds nothing."""
    embedded = list(world.embedder.passages)
    counts = tally(world, run(parts))
    assert {name: getattr(counts, name) for name in found} == found
    assert counts.differing == sum(found.values())
    assert counts.left == 0
    assert_in_step(world)
    assert tally(world, run(parts)).differing == 0
    assert world.embedder.passages == embedded


def test_a_run_over_stores_that_agree_writes_nothing(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one", "two"))
    world.work(world.put("b", "three"))
    world.change("b", enabled=False)
    world.work(world.put("c", "gone"))
    world.work(world.delete("c"))
    before, calls = snapshot(world), len(world.calls.names)
    written, deleted = list(world.index.written), list(world.index.deleted)
    report = run(parts)
    assert tally(world, report) == Tally(documents=2, chunks=3, indexed=3)
    assert report.complete
    assert snapshot(world) == before
    assert (world.index.written, world.index.deleted) == (written, deleted)
    assert set(world.calls.names[calls:]) <= {"refresh", "list"}


def test_a_chunk_that_the_index_lost_is_written_again_from_postgresql(
    world: World, parts: Parts
) -> None:
    world.work(world.put("a", "one", "two"))
    before = dict(world.index._written[world.dataset.space])
    drop(world, world.live_ids()[0])
    assert_repaired(world, parts, missing=1)
    after = world.index._written[world.dataset.space]
    for id_, chunk in before.items():
        assert after[id_].words == chunk.words
        assert after[id_].document_seq == chunk.document_seq
        assert repr(after[id_].vector) == repr(chunk.vector)


def test_an_index_that_is_gone_is_made_again_whole(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one", "two"))
    world.work(world.put("b", "three"))
    world.index._written.clear()
    world.index._visible.clear()
    world.index._versions.clear()
    assert_repaired(world, parts, missing=3)


def test_a_chunk_of_no_document_is_taken_away(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one"))
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)
    write(world, "f" * 8 + "-ffff-4fff-8fff-" + "f" * 12, version=2)
    assert_repaired(world, parts, orphaned=2)


@pytest.mark.parametrize("page", [1, 2, 2_000])
def test_what_the_index_holds_under_texts_that_are_no_ids_is_taken_away(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(window, "PAGE", page)
    world.work(world.put("a", *(f"words {n}" for n in range(9))))
    odd = ["", "orphan-1", "7", "zz", "退款", ",", world.live_ids()[4].upper()]
    for text_ in odd:
        write(world, text_, version=1)
    drop(world, world.live_ids()[6])
    assert_repaired(world, parts, orphaned=len(odd), missing=1)


def test_a_chunk_that_was_left_behind_is_taken_away(world: World, parts: Parts) -> None:
    world.work(world.put("a", "old"))
    old = world.live_ids()[0]
    version = version_of(world, old)
    world.work(world.put("a", "new"))
    write(world, old, version)  # what a writer who had slept for minutes does
    assert_repaired(world, parts, orphaned=1)
    world.work(world.put("a", "new", "old"))  # it can come back
    assert_in_step(world)


def test_a_chunk_of_a_deleted_document_is_taken_away(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one"))
    old = world.live_ids()[0]
    version = version_of(world, old)
    world.work(world.delete("a"))
    world.work(world.put("b", "two"))
    write(world, old, version)
    assert_repaired(world, parts, orphaned=1)


@pytest.mark.parametrize("change", [-1, 1, 5_000])
def test_a_chunk_in_another_version_is_written_under_a_new_one(
    world: World, parts: Parts, change: int
) -> None:
    world.work(world.put("a", "one", "two"))
    id_ = world.live_ids()[0]
    right = world.index._written[world.dataset.space][id_].words
    seen = version_of(world, id_) + change
    write(world, id_, seen, words="something else", document_seq=77)
    assert_repaired(world, parts, outdated=1)
    assert version_of(world, id_) > seen
    chunk = world.index._written[world.dataset.space][id_]
    assert (chunk.words, chunk.document_seq) == (right, world.find("a").seq)


def test_what_postgresql_forgot_that_it_wrote_is_written_again(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one", "two"))
    execute(world, "UPDATE chunks SET index_version = NULL WHERE id = :id", id=world.live_ids()[0])
    assert_repaired(world, parts, outdated=1)


def test_a_version_that_no_database_drew_stops_no_run(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one", "two"))
    lost, strange = world.live_ids()
    drop(world, lost)
    stray = str(uuid.uuid4())
    for chunk_id in (strange, stray):
        write(world, chunk_id, 2**63 - 2)
    counts = tally(world, run(parts))
    assert (counts.missing, counts.orphaned, counts.outdated) == (1, 1, 1)
    assert stray not in world.index.list_ids(world.dataset.id)
    assert lost in world.index.list_ids(world.dataset.id)
    del world.index._versions[world.dataset.space, strange]  # as the engine forgets after a while
    assert tally(world, run(parts)).left == 0
    assert_in_step(world)


def test_versions_leap_over_what_the_index_took_from_a_newer_database(
    world: World, parts: Parts
) -> None:
    world.work(world.put("a", "one"))
    id_ = world.live_ids()[0]
    drop(world, id_)
    # Deleted under a version that this database has never drawn, and nobody can see.
    world.index._versions[world.dataset.space, id_] = 10_000_000
    assert_repaired(world, parts, missing=1)
    with read(world.engine) as connection:
        assert read_newest(connection) > 10_000_000
    world.work(world.put("a", "two"))
    world.work(world.put("a", "one", "two"))
    assert_in_step(world)


def test_many_pages_of_either_side_are_gone_through(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAGE", 3)
    for name in "abcdef":
        world.work(world.put(name, *(f"{name}{n}" for n in range(5))))
    ids = world.live_ids()
    drop(world, *ids[::4])
    for n in range(20):
        write(world, f"{n:08x}-0000-4000-8000-000000000000", version=1)
    assert_repaired(world, parts, missing=len(ids[::4]), orphaned=20)


def test_a_run_goes_on_where_the_call_before_it_stopped(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAGE", 2)
    other = World(world.engine)  # of another space, whose index lacks everything
    other.work(other.put("x", "one", "two"))
    world.work(world.put("a", *(f"chunk {n}" for n in range(7))))
    drop(world, *world.live_ids())
    place: Place | None = None
    found = calls = 0
    while calls == 0 or place is not None:
        times = iter([True, False])
        report, place = reconcile(parts, place=place, has_time=lambda: next(times))  # noqa: B023
        assert place is None or Place.read(place.write()) == place
        assert report.complete is (place is None and calls == 0)
        found += report.sum().missing
        calls += 1
    assert found == 9
    assert calls >= 5
    assert_in_step(world)
    assert tally(world, run(parts)).differing == 0


def test_a_place_in_a_space_that_is_no_more_begins_anew(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one"))
    drop(world, *world.live_ids())
    gone = Place(EmbeddingSpace("given", "gone", 2), "f" * 8)
    assert tally(world, run(parts, place=gone)).missing == 1
    assert_in_step(world)


def test_o18_counting_alone_writes_nothing(
    world: World, parts: Parts, queue: FakeChangeQueue
) -> None:
    world.work(world.put("a", "one", "two"))
    drop(world, world.live_ids()[0])
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)
    world.put("b", "waits")
    execute(
        world,
        "UPDATE outbox SET available_at = now() - interval '1 day',"
        " created_at = now() - interval '1 hour'",
    )
    before, calls = snapshot(world), len(world.calls.names)
    counts = tally(world, run(parts, repairs=False))
    assert counts.oldest_seconds == pytest.approx(3600, abs=60)
    counts.oldest_seconds = 0
    assert counts == Tally(documents=2, chunks=2, indexed=2, missing=1, orphaned=1, waiting=1)
    assert snapshot(world) == before
    assert set(world.calls.names[calls:]) == {"list"}
    assert queue.messages == []


# ---- work that was left undone


def test_work_whose_message_was_lost_is_told_of_again(
    world: World, parts: Parts, queue: FakeChangeQueue
) -> None:
    lost = world.put("lost", "one")
    dead = world.put("dead", "two")
    world.put("fresh", "three")
    taken = world.put("taken", "four")
    assert dead is not None
    assert taken is not None
    with transaction(world.engine) as connection:
        for change in (dead, taken):
            assert outbox.take(connection, change.tenant_id, change.document_id, pipeline.OVERDUE)
    ago = "UPDATE outbox SET available_at = now() - interval '6 minutes' WHERE document_id = :id"
    for name in ("lost", "dead"):
        execute(world, ago, id=world.id_of(name))
    report = run(parts)
    assert report.resent == 2
    assert sorted(map(str, map(read_change, queue.messages))) == sorted(map(str, [lost, dead]))
    for message in queue.messages:
        world.work(read_change(message))
    assert world.live_texts("lost") == ["one"]
    assert world.live_texts("dead") == ["two"]


def test_o01_work_whose_transaction_ends_after_a_run_went_by_is_found_by_the_next(
    world: World, parts: Parts, queue: FakeChangeQueue
) -> None:
    early, late = world.put("early", "one"), world.put("late", "two")
    assert early is not None
    assert late is not None
    overdue = "UPDATE outbox SET available_at = now() - interval '1 hour' WHERE document_id = :id"
    with transaction(world.engine) as slow:
        slow.execute(text(overdue), {"id": early.document_id})
        execute(world, overdue, id=late.document_id)  # which is newer, and there first
        assert run(parts).resent == 1
    assert run(parts).resent == 2
    assert [read_change(each) for each in queue.messages[:1]] == [late]


def test_o01_a_chunk_that_is_lost_on_a_page_that_was_read_is_found_by_the_next_run(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAGE", 2)
    world.work(world.put("a", *(f"chunk {n}" for n in range(6))))
    first = world.live_ids()[0]
    lost: list[str] = []

    def lose(report: Report) -> None:
        if not lost and report.sum().indexed >= 4:  # its page is done with
            lost.append(first)
            drop(world, first)

    assert tally(world, run(parts, watch=lose)).missing == 0
    assert_repaired(world, parts, missing=1)


def test_i12_what_one_store_has_and_the_other_lacks_is_made_equal(
    world: World, parts: Parts
) -> None:
    world.work(world.put("both", "one"))
    change = world.put("index fails", "two")
    world.calls.plan(1, _fall_silent)
    with pytest.raises(IndexUnavailable):
        world.work(change)
    world.calls.forget()
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)  # PostgreSQL knows nothing
    assert tally(world, run(parts)).orphaned == 1
    world.settle()
    counts = tally(world, run(parts))
    assert (counts.chunks, counts.indexed, counts.differing) == (2, 2, 0)


def _fall_silent() -> None:
    raise IndexUnavailable


@pytest.mark.parametrize("status", ["waiting", "parsing", "splitting", "indexing"])
def test_a_document_that_nobody_would_work_at_is_taken_up_again(
    world: World, parts: Parts, queue: FakeChangeQueue, status: str
) -> None:
    world.put("a", "one")
    execute(world, "UPDATE documents SET indexing_status = :status", status=status)
    execute(world, "DELETE FROM outbox")
    assert tally(world, run(parts, repairs=False)).stuck == 1
    assert queue.messages == []
    assert tally(world, run(parts)).stuck == 1
    (message,) = queue.messages
    world.work(read_change(message))
    assert world.live_texts("a") == ["one"]
    assert tally(world, run(parts)).stuck == 0


def test_a_deletion_that_nobody_would_finish_is_taken_up_again(
    world: World, parts: Parts, queue: FakeChangeQueue
) -> None:
    world.work(world.put("a", "one"))
    world.delete("a")
    execute(world, "DELETE FROM outbox")
    assert tally(world, run(parts)).stuck == 1
    change = read_change(queue.messages[0])
    assert change.action is Action.DELETE
    world.work(change)
    assert world.index.list_ids(world.dataset.id) == []
    assert world.content.kept == {}
    assert tally(world, run(parts)) == Tally()


def test_documents_in_error_and_tombstones_are_not_stuck(world: World, parts: Parts) -> None:
    with pytest.raises(DocumentRefused):
        world.work(world.put_bytes("bad", b"\xff\x01", "text/plain"))
    world.work(world.put("gone", "one"))
    world.work(world.delete("gone"))
    assert tally(world, run(parts)) == Tally(documents=1)


# ---- while ingest is at work


STEPS = 8


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
@pytest.mark.parametrize("way", ["create", "update", "shrink", "delete"])
def test_a_run_in_the_middle_of_a_workers_steps_changes_nothing_of_them(
    world: World, parts: Parts, way: str, step: int, after: bool
) -> None:
    ways: dict[str, Callable[[], Change | None]] = {
        "create": lambda: world.put("a", "one", "two"),
        "update": lambda: world.put("a", "one", "three"),
        "shrink": lambda: world.put("a", "two"),
        "delete": lambda: world.delete("a"),
    }
    if way != "create":
        world.work(world.put("a", "one", "two"))
    change = ways[way]()
    reports: list[Report] = []
    world.calls.plan(step, lambda: reports.append(run(parts)), after=after)
    world.work(change)
    world.calls.forget()
    assert [tally(world, report).differing for report in reports] in ([], [0])
    expected = {"create": ["one", "two"], "update": ["one", "three"], "shrink": ["two"]}
    assert world.live_texts("a") == expected.get(way, [])
    assert_in_step(world)
    assert tally(world, run(parts)).differing == 0


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
@pytest.mark.parametrize("way", ["update", "leave", "delete"])
def test_a_worker_in_the_middle_of_a_repair_ends_with_both_in_step(
    world: World, parts: Parts, way: str, step: int, after: bool
) -> None:
    world.work(world.put("a", "one", "two", "three"))
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)
    drop(world, *world.live_ids())
    ways: dict[str, Callable[[], Change | None]] = {
        "update": lambda: world.put("a", "one", "four"),
        "leave": lambda: world.put("a", "four"),
        "delete": lambda: world.delete("a"),
    }
    world.calls.plan(step, lambda: world.work(ways[way]()), after=after)
    run(parts)
    is_done = len(world.sent) == 2
    world.calls.forget()
    run(parts)
    expected = {"update": ["one", "four"], "leave": ["four"], "delete": []}
    assert world.live_texts("a") == (expected[way] if is_done else ["one", "two", "three"])
    assert_in_step(world)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_run_that_dies_is_made_good_by_the_next(
    world: World, parts: Parts, step: int, after: bool
) -> None:
    world.work(world.put("a", "one", "two", "three"))
    world.work(world.put("b", "four"))
    lost, changed, *_ = world.live_ids()
    drop(world, lost)
    write(world, changed, version_of(world, changed) + 3)
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)

    def crash() -> None:
        raise Crash

    world.calls.plan(step, crash, after=after)
    try:
        run(parts)
    except Crash:
        world.calls.forget()
        run(parts)
    world.calls.forget()
    assert_in_step(world)
    assert tally(world, run(parts)).differing == 0


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
def test_two_runs_at_once_do_no_harm(world: World, parts: Parts, step: int, after: bool) -> None:
    world.work(world.put("a", "one", "two", "three"))
    lost, changed, _ = world.live_ids()
    drop(world, lost)
    write(world, changed, version_of(world, changed) + 3)
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1)

    def run_too() -> None:
        run(parts)

    world.calls.plan(step, run_too, after=after)
    run(parts)
    world.calls.forget()
    run(parts)
    assert_in_step(world)
    assert tally(world, run(parts)).differing == 0


def test_a_document_that_somebody_has_locked_is_left_and_named(world: World, parts: Parts) -> None:
    world.work(world.put("a", "one"))
    world.work(world.put("b", "two"))
    drop(world, *world.live_ids())
    with transaction(world.engine) as connection:
        connection.execute(
            text("SELECT 1 FROM documents WHERE id = :id FOR UPDATE"), {"id": world.id_of("a")}
        )
        counts = tally(world, run(parts))
    assert (counts.missing, counts.left) == (2, 1)
    assert_repaired(world, parts, missing=1)


def test_a_chunk_that_the_index_never_takes_keeps_no_other_from_it(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.work(world.put("a", *(f"chunk {n}" for n in range(9))))
    ids = world.live_ids()
    drop(world, *ids)
    upsert = world.index.upsert

    def refuse_one(space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        if any(chunk.id == ids[4] for chunk in chunks):
            raise DocumentRefused("internal", "immense term")
        upsert(space, chunks)

    monkeypatch.setattr(world.index, "upsert", refuse_one)
    counts = tally(world, run(parts))
    assert (counts.missing, counts.left) == (9, 1)
    assert world.index.list_ids(world.dataset.id) == [*ids[:4], *ids[5:]]


def test_a_silent_index_ends_the_run_and_nothing_is_lost(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.work(world.put("a", "one"))
    drop(world, *world.live_ids())

    def fall_silent(*_: object) -> None:
        raise IndexUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(world.index, "upsert", fall_silent)
        with pytest.raises(IndexUnavailable):
            run(parts)
    assert_repaired(world, parts, missing=1)


@pytest.mark.parametrize("is_silent_first", [True, False])
def test_an_index_that_fails_keeps_no_other_from_being_repaired(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch, is_silent_first: bool
) -> None:
    other = World(world.engine, lambda _: world.index)
    worlds = sorted(
        [world, other], key=lambda each: each.dataset.space.model, reverse=is_silent_first
    )
    torn, silent = worlds
    for each in worlds:
        each.work(each.put("a", "one", "two"))
    drop(torn, torn.live_ids()[0])
    refresh = world.index.refresh

    def fail(space: EmbeddingSpace) -> None:
        if space == silent.dataset.space:
            raise IndexUnavailable("The search index refused the request (400, index_closed).")
        refresh(space)

    monkeypatch.setattr(world.index, "refresh", fail)
    with pytest.raises(IndexUnavailable, match="index_closed"):
        reconcile(parts)
    assert_in_step(torn)


def test_the_report_can_be_watched_page_by_page(
    world: World, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAGE", 2)
    world.work(world.put("a", *(f"chunk {n}" for n in range(5))))
    seen: list[int] = []
    run(parts, watch=lambda report: seen.append(report.sum().indexed))
    assert seen == [2, 4, 5]


def test_chunks_of_a_dataset_that_is_unknown_are_reported_under_its_id(
    world: World, parts: Parts
) -> None:
    world.work(world.put("a", "one"))
    unknown = "9" * 8 + "-9999-4999-8999-" + "9" * 12
    write(world, "0" * 8 + "-0000-4000-8000-" + "0" * 12, version=1, dataset_id=unknown)
    report = run(parts)
    assert report.datasets[unknown].orphaned == 1
    [left] = world.index.list_chunks(world.dataset.space, None, None, 9)
    assert (left.chunk_id, left.dataset_id) == (world.live_ids()[0], world.dataset.id)
