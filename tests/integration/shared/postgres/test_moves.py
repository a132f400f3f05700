"""Fields that are counted, renamed and deleted while documents are written, over PostgreSQL."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, null, select, update
from sqlalchemy.dialects.postgresql import JSONB

from shared.errors import Conflict, NotFound
from shared.metadata.fields import COUNTS, FieldType, count_changes
from shared.model import JsonObject
from shared.postgres import fields, moves
from shared.postgres.documents import change_document
from shared.postgres.engine import transaction
from shared.postgres.moves import move_field
from shared.postgres.tables import documents, metadata_fields
from shared.settings import DEFAULT_TENANT
from tests.integration.functions.ingest.world import Crash, World

ENOUGH = 60.0


@pytest.fixture
def world(database: Engine) -> World:
    return World(database)


def put_all(world: World, *metadata: JsonObject) -> None:
    for number, each in enumerate(metadata):
        world.put(f"d{number}", "text", metadata=each)


def move(world: World, name: str, target: str | None, seconds: float = ENOUGH) -> int:
    return move_field(world.engine, world.dataset.id, name, target, seconds)


def list_metadata(world: World) -> list[Any]:
    """Every document's metadata, tombstones included, in the order of names."""
    rows = world.rows(
        "SELECT doc_metadata FROM documents WHERE dataset_id = :dataset ORDER BY name"
    )
    return [row[0] for row in rows]


def list_names(world: World) -> list[str]:
    with transaction(world.engine) as connection:
        return [field.name for field in fields.list_fields(connection, [world.dataset.id])]


def check_counts(world: World) -> None:
    """Demands that what was counted step by step is what a count of all documents gives."""
    rows = world.rows(
        "SELECT doc_metadata FROM documents WHERE dataset_id = :dataset AND deleted_at IS NULL"
        " AND doc_metadata IS NOT NULL"
    )
    expected = {
        each["name"]: tuple(each[count] for count in COUNTS)
        for each in count_changes(({}, row[0]) for row in rows)
    }
    with transaction(world.engine) as connection:
        columns = [metadata_fields.c[each] for each in ("name", *COUNTS)]
        counted = connection.execute(
            select(*columns).where(metadata_fields.c.dataset_id == world.dataset.id)
        ).all()
    assert {name: tuple(counts) for name, *counts in counted if any(counts)} == expected


def find_filled(world: World) -> list[list[str]]:
    """The user's fields that filters see as filled, of each document."""
    builtin = {"document_name", "uploader", "upload_date", "last_update_date", "source"}
    rows = world.rows(
        "SELECT filter_values->'filled' FROM documents WHERE dataset_id = :dataset ORDER BY name"
    )
    return [sorted(set(row[0]) - builtin) for row in rows]


def test_fields_are_counted_through_every_kind_of_write(world: World) -> None:
    put_all(world, {"n": 5}, {"n": "5"}, {"n": "N/A", "x": None}, {"n": None}, {})
    check_counts(world)
    world.put("d0", "text", metadata={"n": 6, "y": [1]})  # metadata alone
    world.put("d1", "other", metadata={"x": {}})  # with content
    check_counts(world)
    world.change("d2", doc_metadata={"n": True})
    world.change("d2", enabled=False)
    check_counts(world)
    world.delete("d0")
    world.delete("d0")
    check_counts(world)
    assert "y" not in list_names(world)
    world.put("d0", "text", metadata={"y": 1})
    world.settle()
    check_counts(world)


def test_a_field_is_inferred_at_first_sight_and_misfits_are_reported(world: World) -> None:
    values = [None, 5, "5", 5.0, "N/A", 12]
    put_all(world, *({"pages": value} for value in values))
    with transaction(world.engine) as connection:
        [field] = fields.list_fields(connection, [world.dataset.id])
    assert field.summarize() == "inferred: number, 1 of 6 values do not fit"
    assert not field.declared


def test_a_field_that_nobody_has_any_more_is_inferred_anew(world: World) -> None:
    put_all(world, {"x": 1})
    world.change("d0", doc_metadata={})
    assert list_names(world) == []
    world.change("d0", doc_metadata={"x": "text"})
    with transaction(world.engine) as connection:
        [field] = fields.list_fields(connection, [world.dataset.id])
    assert field.type is FieldType.STRING


def test_a_rename_reaches_every_document_whatever_its_state(world: World) -> None:
    put_all(world, {"old": 1, "a": 2}, {"old": None}, {"old": {}}, {"a": "old"}, {}, {"old": [1]})
    world.settle()
    world.change("d2", enabled=False)
    world.delete("d5")
    before = [world.find(f"d{n}") for n in range(6)]
    assert move(world, "old", "new") == 0
    assert list_metadata(world) == [
        {"new": 1, "a": 2}, {"new": None}, {"new": {}}, {"a": "old"}, {}, {"new": [1]},
    ]  # fmt: skip
    assert find_filled(world) == [["a", "new"], [], [], ["a"], [], ["new"]]
    assert list_names(world) == ["a", "new"]
    check_counts(world)
    for n, document in enumerate(before):  # the system's own account: nothing else changed
        after = world.find(f"d{n}")
        assert (after.updated_at, after.version) == (document.updated_at, document.version)


def test_a_deleted_field_leaves_nothing_behind(world: World) -> None:
    put_all(world, {"old": 1, "a": 2}, {"old": None})
    assert move(world, "old", None) == 0
    assert list_metadata(world) == [{"a": 2}, {}]
    assert list_names(world) == ["a"]
    check_counts(world)
    with pytest.raises(NotFound):
        move(world, "old", None)


ODD = ["it's", 'a"b', "a.b", "->>'x'", "%s", "%(x)s", ":name", "?", "{}", "😀", "a/b", "\\", " "]


def test_odd_names_are_names(world: World) -> None:
    put_all(world, *({name: 1} for name in ODD))
    for number, name in enumerate(ODD):
        assert move(world, name, f"{name}2") == 0
        assert move(world, f"{name}2", f"n{number}") == 0
    assert [list(each) for each in list_metadata(world)] == [
        [f"n{number}"] for number in sorted(range(len(ODD)), key=lambda n: f"d{n}")
    ]


def test_a_name_is_renamed_in_every_unicode_form(world: World) -> None:
    put_all(world, {"caf\u00e9\u0323": 1}, {"cafe\u0323\u0301": 2}, {"cafe\u0301\u0323": 3})
    [name] = list_names(world)
    assert move(world, name, "place") == 0
    assert list_metadata(world) == [{"place": 1}, {"place": 2}, {"place": 3}]


def test_metadata_that_is_null_is_passed_by(world: World) -> None:
    put_all(world, {"old": 1}, {}, {})
    with transaction(world.engine) as connection:
        for name, value in (("d1", null()), ("d2", JSONB.NULL)):
            connection.execute(
                update(documents)
                .where(documents.c.id == world.id_of(name))
                .values(doc_metadata=value)
            )
    assert move(world, "old", "new") == 0
    assert list_metadata(world) == [{"new": 1}, None, None]


def test_names_that_are_taken_or_unknown_are_refused(world: World) -> None:
    put_all(world, {"a": 1, "b": 1})
    with pytest.raises(NotFound):
        move(world, "c", "d")
    with pytest.raises(NotFound):
        move(world, "c", None)
    with pytest.raises(Conflict):
        move(world, "a", "b")
    assert list_metadata(world) == [{"a": 1, "b": 1}]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "BATCH", 2)


def crash_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Makes the batch of this number end in a crash, inside its transaction."""
    real, calls = fields.observe, [0]

    def observe(*arguments: Any) -> None:
        real(*arguments)
        calls[0] += 1
        if calls[0] == number:
            raise Crash

    monkeypatch.setattr(moves, "observe", observe)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("target", ["new", None])
def test_the_next_call_finishes_what_a_crash_left(
    world: World, monkeypatch: pytest.MonkeyPatch, target: str | None
) -> None:
    put_all(world, *({"old": n, "a": n} for n in range(7)))
    with monkeypatch.context() as patched, pytest.raises(Crash):
        crash_at(patched, 3)
        move(world, "old", target)
    left = [each for each in list_metadata(world) if "old" in each]
    assert len(left) == 3  # two batches of two are done, the third did not happen
    assert "old" not in list_names(world)
    check_counts(world)
    # What is written in the meantime follows the move already.
    world.put("d9", "text", metadata={"old": 9, "a": 9})
    world.change("d6", doc_metadata={"old": 6, "a": 6})
    assert move(world, "old", target) == 0
    renamed = {target: 0} if target else {}
    assert list_metadata(world) == [
        dict.fromkeys(("a", *renamed), n) for n in (0, 1, 2, 3, 4, 5, 6, 9)
    ]
    check_counts(world)
    assert world.rows("SELECT field_moves FROM datasets WHERE id = :dataset") == [({},)]
    # And what is written after it is a field like any other.
    world.put("d9", "text", metadata={"old": 9})
    assert "old" in list_names(world)


@pytest.mark.usefixtures("small_batches")
def test_other_moves_wait_until_a_broken_one_is_finished(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_all(world, *({"old": n, "other": n} for n in range(3)))
    with monkeypatch.context() as patched, pytest.raises(Crash):
        crash_at(patched, 1)
        move(world, "old", "new")
    for name, target in (("old", None), ("old", "x"), ("new", "x"), ("new", None), ("other", "new"),
                         ("other", "old")):  # fmt: skip
        with pytest.raises(Conflict):
            move(world, name, target)
    with transaction(world.engine) as connection:
        for refused in (fields.declare_field, fields.change_type):
            with pytest.raises(Conflict):
                refused(connection, world.dataset.id, "old", FieldType.NUMBER)
    assert move(world, "other", "fine") == 0
    assert move(world, "old", "new") == 0
    assert list_metadata(world) == [{"new": n, "fine": n} for n in range(3)]


@pytest.mark.usefixtures("small_batches")
def test_a_call_that_has_no_more_time_tells_how_much_is_left(world: World) -> None:
    put_all(world, *({"old": n} for n in range(5)))
    assert move(world, "old", "new", seconds=-1) == 3
    assert move(world, "old", "new", seconds=-1) == 1
    assert move(world, "old", "new", seconds=-1) == 1  # to look for more
    assert move(world, "old", "new") == 0
    assert list_metadata(world) == [{"new": n} for n in range(5)]


def hold_open(world: World, write: Callable[[Any], None]) -> tuple[threading.Thread, Any]:
    """Runs a write in a transaction that stays open until the event it returns is set."""
    written, end = threading.Event(), threading.Event()

    def run() -> None:
        with transaction(world.engine) as connection:
            write(connection)
            written.set()
            end.wait(ENOUGH)

    thread = threading.Thread(target=run)
    thread.start()
    assert written.wait(ENOUGH)
    return thread, end


def test_a_write_that_began_before_the_rename_does_not_keep_the_old_name(world: World) -> None:
    put_all(world, {"old": 1}, {"a": 1})

    def write(connection: Any) -> None:
        values = {"doc_metadata": {"old": 2}}
        change_document(connection, DEFAULT_TENANT, world.id_of("d1"), values)

    writer, end = hold_open(world, write)
    with ThreadPoolExecutor(1) as pool:
        renamed = pool.submit(move, world, "old", "new")
        world.wait_for_lock()
        end.set()
        assert renamed.result(ENOUGH) == 0
    writer.join()
    assert list_metadata(world) == [{"new": 1}, {"new": 2}]
    check_counts(world)


def test_a_write_that_waits_for_the_rename_follows_it(world: World) -> None:
    put_all(world, {"old": 1}, {"a": 1})

    def begin(connection: Any) -> None:
        fields.begin_move(connection, world.dataset.id, "old", "new")

    mover, end = hold_open(world, begin)
    with ThreadPoolExecutor(1) as pool:
        changed = pool.submit(world.change, "d1", doc_metadata={"old": 2})
        world.wait_for_lock()
        end.set()
        assert changed.result(ENOUGH).metadata == {"new": 2}
    mover.join()
    assert move(world, "old", "new") == 0
    assert list_metadata(world) == [{"new": 1}, {"new": 2}]


@pytest.mark.usefixtures("small_batches")
def test_writers_and_renames_at_once_end_well(world: World) -> None:
    names = ("a", "b", "c")
    put_all(world, *(dict.fromkeys(names, n) for n in range(6)))
    stop = threading.Event()

    def write(number: int) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            order = names if turn % 2 else names[::-1]
            metadata = dict.fromkeys(order[: 1 + turn % 3], turn)
            world.put(f"d{(number + turn) % 6}", "text", metadata=metadata)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, number) for number in range(3)]
        for turn in range(12):
            name = names[turn % 3]
            for step in ((name, f"{name}2"), (f"{name}2", f"{name}{turn + 3}")):
                pool.submit(move_if_there, world, *step).result(ENOUGH)
        stop.set()
        for writer in writers:
            writer.result(ENOUGH)
    check_counts(world)
    assert world.rows("SELECT field_moves FROM datasets WHERE id = :dataset") == [({},)]


def move_if_there(world: World, name: str, target: str) -> None:
    try:
        assert move(world, name, target) == 0
    except NotFound:
        return
