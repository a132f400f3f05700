"""Ingest on the real PostgreSQL: what is written, what is not, and what a crash leaves behind."""

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from functions.ingest.pipeline import MOST_ATTEMPTS, ingest
from shared.errors import (
    ConfigurationError,
    DocumentRefused,
    EmbedderFailed,
    IndexUnavailable,
    StaleVersion,
)
from shared.files.media import Format
from shared.model import Action, Change, IndexingStatus
from shared.postgres import outbox
from shared.postgres.engine import read, transaction
from shared.postgres.live_chunks import list_live, switch_chunk
from tests.files.office import replace_part, write_docx
from tests.files.pdf import PICTURE, encrypt, show, write_pdf
from tests.integration.functions.ingest.world import Crash, World

DOCX = Format.DOCX.value


@pytest.fixture
def world(database: Engine) -> World:
    return World(database)


def crash() -> None:
    raise Crash


def fall_silent() -> None:
    raise IndexUnavailable


def assert_in_step(world: World) -> None:
    assert world.index.list_ids(world.dataset.id) == world.live_ids()
    assert world.counts() == world.recount()
    assert world.rows("SELECT 1 FROM outbox WHERE dataset_id = :dataset") == []
    keys = world.rows("SELECT content_key FROM documents WHERE dataset_id = :dataset")
    assert set(world.content.kept) == {key for (key,) in keys if key is not None}


def test_a_document_goes_in_and_is_live(world: World) -> None:
    world.work(world.put("a", "one", "two"))
    document = world.find("a")
    assert document.live_version == document.version == 1
    assert document.indexing_status is IndexingStatus.COMPLETED
    assert document.completed_at is not None
    assert document.chunking == {"strategy": "headings", "size": 400, "overlap": 40}
    assert world.live_texts("a") == ["one", "two"]
    assert_in_step(world)


def test_i14_the_same_content_again_writes_nothing_and_embeds_nothing(world: World) -> None:
    world.work(world.put("a", "one", "two"))
    ids, calls = world.live_ids(), list(world.calls.names)
    assert world.put("a", "one", "two") is None
    world.settle()
    assert world.calls.names == calls
    assert world.live_ids() == ids
    assert world.find("a").version == 1


def test_i14_a_repeated_run_has_the_same_ids_and_embeds_nothing(world: World) -> None:
    world.work(world.put("a", "one", "two"))
    ids = world.live_ids()
    world.embedder.passages.clear()
    assert world.put("a", "one", "two", version=5, metadata={"x": 1}) is None  # metadata alone
    world.delete("a")
    world.work(world.put("a", "one", "two"))  # before the delete was ingested
    assert world.embedder.passages == []
    assert world.live_ids() == ids
    assert_in_step(world)


def test_f07_the_same_file_twice_leaves_the_chunks_as_they_are(world: World) -> None:
    change = world.put("a", "one", "one", "two")
    world.work(change)
    rows = world.rows("SELECT * FROM chunks c JOIN documents d ON d.id = c.document_id"
                      " WHERE d.dataset_id = :dataset")  # fmt: skip
    for _ in range(3):
        world.work(change)
    assert len(rows) == 3
    assert world.live_texts("a") == ["one", "one", "two"]
    assert_in_step(world)


def test_an_inserted_paragraph_embeds_and_indexes_only_itself(world: World) -> None:
    world.work(world.put("a", "one", "two", "three"))
    world.embedder.passages.clear()
    world.index.written.clear()
    world.work(world.put("a", "one", "new", "two", "three"))
    assert world.embedder.passages == ["new"]
    assert len(world.index.written) == 1
    assert world.live_texts("a") == ["one", "new", "two", "three"]
    assert_in_step(world)


def test_metadata_and_switches_touch_postgresql_alone(world: World) -> None:
    world.work(world.put("a", "one"))
    calls = list(world.calls.names)
    assert world.put("a", "one", metadata={"lang": "en"}) is None
    assert world.find("a").metadata == {"lang": "en"}
    assert world.find("a").live_version == world.find("a").version == 2
    for values in ({"enabled": False}, {"archived": True}, {"enabled": True}, {"archived": False}):
        world.change("a", **values)
        assert world.counts() == world.recount()
    world.settle()
    assert world.calls.names == calls
    assert world.counts() == (1, 0)


def test_o05_a_change_of_name_leaves_metadata_text_and_vectors_as_they_are(world: World) -> None:
    metadata = {f"field {n}": "x" * 600 for n in range(100)}
    world.work(world.put("a", *(f"chunk {n}" for n in range(200)), metadata=metadata))
    select = "SELECT c.* FROM chunks c JOIN documents d ON d.id = c.document_id" \
             " WHERE d.dataset_id = :dataset ORDER BY c.id"  # fmt: skip
    rows, calls = world.rows(select), list(world.calls.names)
    world.change("a", name="other")
    world.change("a", enabled=False)
    world.settle()
    assert world.find("a").metadata == metadata
    assert world.rows(select) == rows
    assert len(rows) == 200
    assert world.calls.names == calls


def test_o04_an_older_version_changes_nothing(world: World) -> None:
    world.work(world.put("a", "one", version=7))
    with pytest.raises(StaleVersion, match=r"version 6 .* version 7"):
        world.put("a", "other", version=6)
    with pytest.raises(StaleVersion, match=r"version 7 .* version 7 with other content"):
        world.put("a", "other", version=7)
    assert world.put("a", "one", version=7) is None
    world.settle()
    assert world.live_texts("a") == ["one"]
    assert world.find("a").version == 7


def test_raw_content_is_kept_until_it_is_replaced_or_deleted(world: World) -> None:
    world.work(world.put("a", "one"))
    first = world.find("a").content_key
    world.work(world.put("a", "two"))
    second = world.find("a").content_key
    assert list(world.content.kept) == [second] != [first]
    world.work(world.delete("a"))
    assert world.content.kept == {}


def test_i01_a_deleted_document_is_gone_from_both_stores_and_leaves_a_tombstone(
    world: World,
) -> None:
    world.work(world.put("a", *(f"chunk {n}" for n in range(37))))
    world.work(world.put("b", "other"))
    change = world.delete("a")
    assert world.delete("a") == change  # again is fine: the same is left to do
    world.work(change)
    world.work(change)
    assert world.live_texts("a") == []
    assert len(world.index.list_ids(world.dataset.id)) == 1
    assert world.find("a").deleted_at is not None
    assert world.live_texts("b") == ["other"]
    assert_in_step(world)


def test_a_tombstone_beats_older_writes_for_ever_and_a_newer_one_revives(world: World) -> None:
    late = world.put("a", "one", version=3)
    world.work(late)
    world.work(world.delete("a", version=9))
    for version in (3, 8, 9):
        with pytest.raises(StaleVersion):
            world.put("a", "one", version=version)
    world.work(late)
    assert world.live_ids() == world.index.list_ids(world.dataset.id) == []
    world.work(world.put("a", "one", version=10))
    assert world.live_texts("a") == ["one"]
    assert world.find("a").deleted_at is None
    assert_in_step(world)


def test_a_revived_document_is_seen_again_even_if_it_was_disabled(world: World) -> None:
    world.work(world.put("a", "one"))
    world.change("a", enabled=False, archived=True)
    world.work(world.delete("a"))
    world.work(world.put("a", "one"))
    assert world.counts() == (1, 0)
    assert_in_step(world)


@pytest.mark.parametrize("is_taken_away", [True, False])
def test_i07_a_revived_document_has_no_chunk_that_is_still_off(
    world: World, is_taken_away: bool
) -> None:
    world.work(world.put("a", "one", "two"))
    [off, _] = world.live_ids()
    with transaction(world.engine) as connection:
        switch_chunk(connection, world.dataset.tenant_id, off, enabled=False)
    gone = world.delete("a")
    if is_taken_away:
        world.work(gone)
    world.work(world.put("a", "one", "two"))
    with read(world.engine) as connection:
        found = list_live(connection, world.find("a"), 0, 9)
    assert [(each.text, each.enabled) for each in found] == [("one", True), ("two", True)]
    assert_in_step(world)


def test_i05_an_update_leaves_exactly_the_new_chunks(world: World) -> None:
    world.work(world.put("b", "untouched"))
    world.work(world.put("a", *(f"old {n}" for n in range(25))))
    change = world.put("a", "new 1", "old 7", "new 2")
    world.calls.plan(2, crash, after=True)
    with pytest.raises(Crash):
        world.work(change)
    world.settle()
    assert world.live_texts("a") == ["new 1", "old 7", "new 2"]
    assert world.live_texts("b") == ["untouched"]
    assert_in_step(world)


WAYS = {
    "create": lambda world: world.put("a", "one", "two"),
    "update": lambda world: world.put("a", "one", "three"),
    "shrink": lambda world: world.put("a", "two"),
    "delete": lambda world: world.delete("a"),
}


@pytest.mark.parametrize("failure", [crash, fall_silent])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_failure_at_any_call_is_finished_by_the_next_delivery(
    database: Engine, way: str, failure: Callable[[], None], after: bool
) -> None:
    for call in range(10):
        world = World(database)
        if way != "create":
            world.work(world.put("a", "one", "two"))
        change = WAYS[way](world)
        world.calls.plan(call, failure, after=after)
        try:
            world.work(change)
        except (Crash, IndexUnavailable):
            world.work(change)
        else:
            break  # fewer calls than that
        finally:
            world.calls.forget()
        assert_in_step(world)
        expected = {"create": ["one", "two"], "update": ["one", "three"], "shrink": ["two"]}
        assert world.live_texts("a") == expected.get(way, [])
    assert call > 1


def test_a_chunk_that_left_and_comes_back_after_a_crash_is_indexed_again(world: World) -> None:
    world.work(world.put("a", "stays", "leaves"))
    without = world.put("a", "stays")
    world.calls.plan(2, crash, after=True)  # refresh, delete, then the refresh after it
    with pytest.raises(Crash):
        world.work(without)
    assert world.calls.names[-1] == "refresh"
    world.work(world.put("a", "stays", "leaves"))
    assert world.live_texts("a") == ["stays", "leaves"]
    assert_in_step(world)


def test_a_document_revived_after_a_crash_in_its_delete_is_indexed_again(world: World) -> None:
    world.work(world.put("a", "one", "two"))
    gone = world.delete("a")
    world.calls.plan(0, crash, after=True)  # out of the index, still in PostgreSQL
    with pytest.raises(Crash):
        world.work(gone)
    world.work(world.put("a", "one", "two"))
    assert world.live_texts("a") == ["one", "two"]
    assert_in_step(world)


@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_was_overtaken_anywhere_changes_nothing(
    database: Engine, step: int, after: bool
) -> None:
    world = World(database)
    world.work(world.put("a", "zero", "shared"))
    slow = world.put("a", "one", "shared")

    def overtake() -> None:
        world.work(world.put("a", "two", "shared"))

    world.calls.plan(step, overtake, after=after)
    world.work(slow)
    world.settle()
    if len(world.sent) == 2:  # the slow one was through already
        overtake()
    assert world.live_texts("a") == ["two", "shared"]
    assert_in_step(world)


@pytest.mark.parametrize("step", range(5))
def test_a_worker_that_a_delete_overtakes_brings_nothing_back(database: Engine, step: int) -> None:
    world = World(database)
    slow = world.put("a", "one", "two")
    world.calls.plan(step, lambda: world.work(world.delete("a")))
    world.work(slow)
    world.settle()
    if len(world.sent) == 1:
        world.work(world.delete("a"))
    assert world.find("a").live_version is None
    assert world.live_ids() == world.index.list_ids(world.dataset.id) == []
    assert world.counts() == (0, 0)


@pytest.mark.parametrize("step", range(5))
def test_two_workers_at_the_same_version_end_as_one_would(database: Engine, step: int) -> None:
    world = World(database)
    change = world.put("a", "one", "two")
    world.calls.plan(step, lambda: world.work(change))  # its lease had ended
    world.work(change)
    world.settle()
    assert world.live_texts("a") == ["one", "two"]
    assert_in_step(world)


def test_late_and_reordered_messages_change_nothing(world: World) -> None:
    changes = [world.put("a", f"text {n}") for n in range(4)] + [world.delete("a")]
    for change in reversed(changes):
        world.work(change)
    for change in changes:
        world.work(change)
    assert world.live_ids() == world.index.list_ids(world.dataset.id) == []
    assert_in_step(world)


def test_a_message_of_another_tenants_or_an_unknown_document_is_nothing(world: World) -> None:
    world.put("a", "one")
    mine = world.sent[0]
    stranger = Change(str(uuid.uuid4()), mine.dataset_id, mine.document_id, 1, Action.DELETE)
    unknown = Change(mine.tenant_id, mine.dataset_id, str(uuid.uuid4()), 1, Action.PROCESS)
    for change in (stranger, unknown):
        world.work(change)
    assert world.calls.names == []
    world.settle()
    assert world.live_texts("a") == ["one"]


def test_a_silent_model_is_an_outage_not_the_documents_fault(world: World) -> None:
    change = world.put("a", "one")
    world.embedder.broken = "the model sleeps"
    for _ in range(MOST_ATTEMPTS + 2):
        with pytest.raises(EmbedderFailed):
            world.work(change)
    assert world.find("a").indexing_status is not IndexingStatus.ERROR
    world.embedder.broken = None
    world.settle()
    assert world.live_texts("a") == ["one"]


def test_an_index_that_cannot_be_made_is_not_the_documents_fault(world: World) -> None:
    def refuse() -> None:
        raise ConfigurationError("An index is named winnow-x, where Winnow needs an alias.")

    change = world.put("a", "one")
    for attempt in range(MOST_ATTEMPTS + 2):
        world.calls.plan(1 if attempt == 0 else 0, refuse)  # it is embedded once
        with pytest.raises(ConfigurationError):
            world.work(change)
    world.settle()
    assert world.live_texts("a") == ["one"]
    assert_in_step(world)


def test_n09_a_document_whose_worker_died_is_completed_once_its_lease_ends(world: World) -> None:
    change = world.put("a", "one")
    assert change is not None
    world.calls.plan(2, crash, after=True)  # embed, ensure, upsert
    with pytest.raises(Crash):
        world.work(change)
    ingest(change, world.parts)  # which leaves it to whoever had it
    assert world.find("a").indexing_status is IndexingStatus.INDEXING
    lease = "SELECT available_at <= now() + interval '5 minutes' FROM outbox" \
            " WHERE dataset_id = :dataset"  # fmt: skip
    assert world.rows(lease) == [(True,)]
    world.settle()
    assert world.find("a").indexing_status is IndexingStatus.COMPLETED
    assert_in_step(world)


def test_n09_a_document_that_kills_its_workers_is_given_up_with_a_reason(world: World) -> None:
    change = world.put("a", "one")
    for _ in range(MOST_ATTEMPTS):
        world.calls.plan(0, crash)
        with pytest.raises(Crash):
            world.work(change)
    world.calls.forget()
    with pytest.raises(DocumentRefused):
        world.work(change)
    assert world.find("a").error_code == "internal"
    assert world.find("a").error == f"given up after {MOST_ATTEMPTS} attempts"


@pytest.mark.parametrize(
    ("data", "media_type", "code"),
    [
        (b"", "text/plain", "no_text"),
        (b" \n\t", "text/plain", "no_text"),
        (b"\xff\xfe\x00", "text/plain", "encoding"),
        (b"caf\xe9\x01", "text/plain", "encoding"),
        (b"\xff\xff\xff", "text/plain; charset=shift_jis", "encoding"),
        (b"x", "image/png", "unsupported"),
        (b"a\x00b", "text/plain", "broken"),
        (b"%PDF-1.7", "application/pdf", "broken"),
        (encrypt(write_pdf([show("x")]), "user", "owner"), "application/pdf", "password"),
        (write_pdf([PICTURE]), "application/pdf", "no_text"),
        (replace_part(write_docx("x"), "a.bin", bytes(20_000_000)), DOCX, "expands_too_far"),
        (b"{", "application/json", "broken"),
    ],
)
def test_an_unusable_document_ends_in_error_with_its_reason_and_is_not_tried_for_ever(
    world: World, data: bytes, media_type: str, code: str
) -> None:
    change = world.put_bytes("a", data, media_type)
    with pytest.raises(DocumentRefused):
        world.work(change)
    document = world.find("a")
    assert (document.indexing_status, document.error_code) == (IndexingStatus.ERROR, code)
    assert document.error
    assert document.live_version is None
    assert_in_step(world)
    with pytest.raises(DocumentRefused) as again:
        world.work(change)  # so that its message ends in the dead-letter queue
    assert again.value.code == code


def test_an_unusable_update_leaves_the_old_version_live(world: World) -> None:
    world.work(world.put_bytes("a", b"good text", "text/plain"))
    change = world.put_bytes("a", b"\xff\x01", "text/plain")
    with pytest.raises(DocumentRefused):
        world.work(change)
    assert world.live_texts("a") == ["good text"]
    assert world.find("a").live_version == 1
    assert_in_step(world)
    world.work(world.put_bytes("a", b"better text", "text/plain"))
    assert world.find("a").error is None
    assert_in_step(world)


def test_missing_content_is_said_on_the_document(world: World) -> None:
    change = world.put("a", "one")
    world.content.kept.clear()
    with pytest.raises(DocumentRefused, match="not in the content store"):
        world.work(change)
    assert world.find("a").error_code == "internal"


def test_blank_chunks_are_dropped_before_embedding(world: World) -> None:
    world.work(world.put("a", "one", " \n", "two", ""))
    assert world.embedder.passages == ["one", "two"]
    assert world.live_texts("a") == ["one", "two"]


def test_a_leased_document_is_left_to_its_worker(world: World) -> None:
    change = world.put("a", "one")
    with transaction(world.engine) as connection:
        assert change is not None
        outbox.take(connection, change.tenant_id, change.document_id, timedelta(minutes=5))
    ingest(change, world.parts)
    assert world.calls.names == []


def test_superseded_chunks_stay_for_queries_in_flight_and_are_forgotten_later(
    world: World,
) -> None:
    world.work(world.put("a", "old"))
    world.work(world.put("a", "new"))
    count = "SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id" \
            " WHERE d.dataset_id = :dataset"  # fmt: skip
    assert world.rows(count) == [(2,)]
    with transaction(world.engine) as connection:
        connection.exec_driver_sql(
            "UPDATE chunk_memberships SET superseded_at = superseded_at - interval '6 minutes'"
        )
    world.work(world.put("a", "newest"))
    assert world.rows(count) == [(2,)]  # "new" a moment ago, "newest"; "old" is forgotten
    assert_in_step(world)
