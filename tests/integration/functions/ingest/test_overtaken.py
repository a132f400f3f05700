"""What happens between two steps of a worker must not lose what another did."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from functions.ingest.events import ObjectChange
from functions.ingest.pipeline import ingest
from functions.ingest.publish import publish
from functions.ingest.sources import take_object
from shared.errors import ConfigurationError, Conflict, DocumentRefused, EmbedderRefused
from shared.model import Change, IndexingStatus
from shared.postgres.chunks import Membership, persist_members
from shared.postgres.documents import lock_version, retry_document
from shared.postgres.engine import transaction
from shared.settings import DEFAULT_TENANT
from tests.integration.functions.ingest.world import Crash, World


@pytest.fixture
def world(database: Engine) -> World:
    return World(database)


def test_a_chunk_that_comes_back_is_not_purged_by_who_was_overtaken(world: World) -> None:
    world.work(world.put("a", "one", "keep"))
    world.work(world.put("a", "two", "keep"))
    with transaction(world.engine) as connection:
        connection.execute(
            text("UPDATE chunk_memberships SET superseded_at = now() - interval '1 hour'"
                 " WHERE superseded_at IS NOT NULL AND document_id = :id"),
            {"id": world.id_of("a")},
        )  # fmt: skip
    slow = world.find("a")
    newest = world.put("a", "one", "keep", "more")
    ids = dict(world.rows("SELECT text, id::text FROM chunks WHERE document_id = :id",
                          id=world.id_of("a")))  # fmt: skip
    with transaction(world.engine) as connection:
        locked = lock_version(connection, world.find("a"))
        assert locked is not None
        members = [Membership(ids[each], n, None, None, None) for n, each in enumerate(["one"], 1)]
        persist_members(connection, locked, members)
        overtaken = threading.Thread(
            target=publish, args=(world.engine, world.index, world.dataset, slow)
        )
        overtaken.start()
        time.sleep(0.3)  # it waits for the document's lock, or would purge by now
    overtaken.join(10)
    world.work(newest)
    assert world.live_texts("a") == ["one", "keep", "more"]


class Bucket:
    """One object, and what happens while it is read."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.key = f"datasets/{world.dataset.id}/a.txt"

    def tell(self, sequencer: str | None, *, removed: bool = False, sidecar: bool = False) -> None:
        change = self.take(sequencer, removed=removed, sidecar=sidecar)
        if change is not None:
            ingest(change, self.world.parts)

    def take(
        self, sequencer: str | None, *, removed: bool = False, sidecar: bool = False
    ) -> Change | None:
        key = self.key + ".metadata.json" * sidecar
        event = ObjectChange("b", key, removed, sequencer)
        parts = self.world.parts
        return take_object(event, parts.engine, parts.objects, parts.content, parts.max_bytes)

    def during_the_next_read(
        self, monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]
    ) -> None:
        objects, read = self.world.objects, self.world.objects.read
        waiting = [action]

        def read_slowly(*arguments: Any) -> Any:
            found = read(*arguments)
            if waiting:
                waiting.pop()()
            return found

        monkeypatch.setattr(objects, "read", read_slowly)

    def texts(self) -> list[str]:
        return self.world.live_texts(f"s3://b/{self.key}")


@pytest.fixture
def bucket(world: World) -> Bucket:
    return Bucket(world)


def test_a_removal_that_comes_before_what_it_removes_leaves_a_tombstone(bucket: Bucket) -> None:
    bucket.world.objects.put(bucket.key, b"old")
    bucket.tell("05", removed=True)
    bucket.tell("03")
    assert bucket.texts() == []
    bucket.world.objects.put(bucket.key, b"new")
    bucket.tell("07")
    assert bucket.texts() == ["new"]


def test_what_was_read_before_a_newer_write_is_read_again(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.world.objects.put(bucket.key, b"old")
    bucket.tell("01")

    def replace() -> None:
        bucket.world.objects.put(bucket.key, b"new")
        bucket.tell("02")

    bucket.during_the_next_read(monkeypatch, replace)
    bucket.tell(None, sidecar=True)
    assert bucket.texts() == ["new"]
    assert [data for data, _ in bucket.world.content.kept.values()] == [b"new"]


def test_what_was_read_before_a_removal_does_not_come_back(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.world.objects.put(bucket.key, b"old")
    bucket.tell("01")

    def remove() -> None:
        bucket.world.objects.remove(bucket.key)
        bucket.tell("02", removed=True)

    bucket.during_the_next_read(monkeypatch, remove)
    bucket.tell(None, sidecar=True)
    assert bucket.texts() == []


def test_a_broken_sidecar_leaves_the_work_that_waits(bucket: Bucket) -> None:
    bucket.world.objects.put(bucket.key, b"good")
    assert bucket.take("01") is not None
    bucket.world.objects.put(bucket.key + ".metadata.json", b"{")
    with pytest.raises(DocumentRefused, match=r"a\.txt\.metadata\.json"):
        bucket.take(None, sidecar=True)
    bucket.world.settle()
    assert bucket.texts() == ["good"]


def test_of_what_is_too_large_nothing_is_kept_that_could_be_retried(bucket: Bucket) -> None:
    bucket.world.objects.put(bucket.key, b"x" * 2_000)
    with pytest.raises(DocumentRefused, match="2000 bytes"):
        bucket.take("01")
    assert bucket.world.content.kept == {}
    with (
        transaction(bucket.world.engine) as connection,
        pytest.raises(Conflict, match="send it again"),
    ):
        id_ = bucket.world.id_of(f"s3://b/{bucket.key}")
        retry_document(connection, DEFAULT_TENANT, id_)


def test_metadata_that_comes_while_work_waits_leaves_the_work_to_be_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.work(world.put("a", "one"))
    with monkeypatch.context() as patch:
        patch.setattr(world.index, "delete", crash)
        with pytest.raises(Crash):
            world.work(world.put("a", "two"))
    # Live already, but the chunk that left is in the index still.
    assert world.find("a").live_version == 2
    assert world.put("a", "two", metadata={"lang": "en"}) is not None
    world.settle()
    assert world.index.list_ids(world.dataset.id) == world.live_ids()
    assert world.find("a").metadata == {"lang": "en"}
    assert world.list_waiting() == []


def crash(*_: object) -> None:
    raise Crash


def test_of_what_is_live_there_is_nothing_to_retry(world: World) -> None:
    world.work(world.put("a", "one"))
    with transaction(world.engine) as connection:
        _, change = retry_document(connection, DEFAULT_TENANT, world.id_of("a"))
    assert change is None
    assert world.find("a").indexing_status is IndexingStatus.COMPLETED


def test_a_retry_while_a_worker_is_at_it_is_done_after_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.put("a", "one")

    def retry_meanwhile(*_: object) -> None:
        with transaction(world.engine) as connection:
            retry_document(connection, DEFAULT_TENANT, world.id_of("a"))

    with monkeypatch.context() as patch:
        patch.setattr(world.index, "refresh", retry_meanwhile)
        world.work(first)
    assert len(world.list_waiting()) == 1
    world.settle()
    assert world.live_texts("a") == ["one"]
    assert world.find("a").indexing_status is IndexingStatus.COMPLETED


def test_the_same_text_as_another_type_is_other_content(world: World) -> None:
    world.work(world.put_bytes("a", b"# A\n\nx\n\n# B\n\ny", "text/plain"))
    assert len(world.live_texts("a")) == 1
    world.work(world.put_bytes("a", b"# A\n\nx\n\n# B\n\ny", "text/markdown"))
    assert len(world.live_texts("a")) == 2


def test_what_the_model_refuses_ends_in_error_with_its_reason(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_texts: object) -> list[object]:
        raise EmbedderRefused("the text is longer than the model takes")

    monkeypatch.setattr(world.embedder, "embed_passages", refuse)
    with pytest.raises(DocumentRefused, match="longer than"):
        world.work(world.put("a", "one"))
    document = world.find("a")
    assert document.indexing_status is IndexingStatus.ERROR
    assert document.error_code == "embedding"
    assert world.list_waiting() == []


def test_a_model_that_this_deployment_lacks_is_a_reason_on_the_document(world: World) -> None:
    def lack(_: object) -> None:
        raise ConfigurationError("WINNOW_OPENAI_BASE_URL is not set, and this dataset needs it")

    parts = replace(world.parts, embedder_for=lack)
    change = world.put("a", "one")
    assert change is not None
    with pytest.raises(DocumentRefused, match="WINNOW_OPENAI_BASE_URL"):
        ingest(change, parts)
    document = world.find("a")
    assert document.indexing_status is IndexingStatus.ERROR
    assert document.error_code == "embedding"


@pytest.mark.parametrize("is_read", [True, False], ids=["what was read", "bytes that are gone"])
def test_what_is_wrong_with_an_older_version_is_nobodys_failure(
    world: World, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    get = world.content.get

    def replace_first(key: str) -> bytes:
        monkeypatch.undo()
        data: bytes = get(key) if is_read else b""
        world.put("a", "newer")
        return data if is_read else get(key)

    monkeypatch.setattr(world.content, "get", replace_first)
    world.work(world.put_bytes("a", b"\xff\x01", "text/plain"))
    assert world.find("a").indexing_status is IndexingStatus.WAITING
    world.settle()
    assert world.live_texts("a") == ["newer"]
