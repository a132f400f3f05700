"""Objects of a bucket become documents, whatever order their events come in."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from functions.ingest.events import ObjectChange
from functions.ingest.pipeline import ingest
from functions.ingest.sources import take_object
from shared.errors import ChangeMalformed, DocumentRefused, IndexUnavailable, Unavailable
from shared.metadata.fields import FieldType
from shared.model import Document, IndexingStatus
from shared.postgres.engine import transaction
from shared.postgres.fields import declare_field
from tests.integration.functions.ingest.world import World


class Bucket:
    """A bucket whose events are delivered by hand."""

    def __init__(self, world: World) -> None:
        self.world = world

    def key(self, name: str) -> str:
        return f"datasets/{self.world.dataset.id}/{name}"

    def put(
        self, name: str, data: bytes | str | dict[str, Any], media_type: str = "binary/octet-stream"
    ) -> None:
        text = json.dumps(data) if isinstance(data, dict) else data
        raw = text.encode() if isinstance(text, str) else text
        self.world.objects.put(self.key(name), raw, media_type=media_type)

    def remove(self, name: str) -> None:
        self.world.objects.remove(self.key(name))

    def tell(self, name: str, sequencer: str | None = None, *, removed: bool = False) -> None:
        """Delivers an event, and does the work that it brings."""
        self.deliver(ObjectChange("b", self.key(name), removed, sequencer))

    def deliver(self, event: ObjectChange) -> None:
        parts = self.world.parts
        change = take_object(event, parts.engine, parts.objects, parts.content, parts.max_bytes)
        if change is not None:
            ingest(change, parts)

    def find(self, name: str) -> Document:
        return self.world.find(f"s3://b/{self.key(name)}")

    def texts(self, name: str) -> list[str]:
        return self.world.live_texts(f"s3://b/{self.key(name)}")


@pytest.fixture
def bucket(database: Engine) -> Bucket:
    return Bucket(World(database))


def test_what_the_sender_says_an_object_is_counts_where_nothing_else_tells(bucket: Bucket) -> None:
    bucket.put("page", "<p>refund policy</p>", "text/html")
    bucket.put("turkish.txt", "değişim".encode("cp1254"), "text/plain; charset=windows-1254")
    bucket.put("named.md", "*refund*", "application/pdf")
    for name in ("page", "turkish.txt", "named.md"):
        bucket.tell(name)
    assert bucket.texts("page") == ["refund policy"]
    assert bucket.texts("turkish.txt") == ["değişim"]
    assert bucket.find("named.md").media_type == "text/markdown"


def test_a_created_object_is_a_document(bucket: Bucket) -> None:
    bucket.put("guides/a b+ü.txt", "hello world")
    bucket.tell("guides/a b+ü.txt", "01")
    document = bucket.find("guides/a b+ü.txt")
    assert document.name == "a b+ü.txt"
    assert document.source == f"s3://b/{bucket.key('guides/a b+ü.txt')}"
    assert document.uploader == "s3"
    assert document.indexing_status is IndexingStatus.COMPLETED
    assert bucket.texts("guides/a b+ü.txt") == ["hello world"]


def test_a_removed_object_ends_its_document_and_a_new_one_revives_it(bucket: Bucket) -> None:
    bucket.put("a.txt", "one")
    bucket.tell("a.txt", "01")
    bucket.remove("a.txt")
    bucket.tell("a.txt", "02", removed=True)
    assert bucket.find("a.txt").deleted_at is not None
    assert bucket.texts("a.txt") == []
    bucket.put("a.txt", "one")
    bucket.tell("a.txt", "03")
    assert bucket.texts("a.txt") == ["one"]


def test_a_removal_of_what_never_came_is_nothing(bucket: Bucket) -> None:
    bucket.tell("a.txt", "01", removed=True)
    bucket.tell("a.txt", removed=True)
    bucket.tell("a.txt", "01")  # and a creation of what is gone by now
    assert bucket.world.sent == []
    assert bucket.world.recount() == (0, 0)


def test_the_same_event_again_does_nothing(bucket: Bucket) -> None:
    bucket.put("a.txt", "one")
    bucket.tell("a.txt", "01")
    calls, version = list(bucket.world.calls.names), bucket.find("a.txt").version
    bucket.tell("a.txt", "01")
    bucket.tell("a.txt", "00FF")
    assert bucket.world.calls.names == calls
    assert bucket.find("a.txt").version == version


def test_a_redelivered_event_goes_on_with_what_an_outage_left(bucket: Bucket) -> None:
    bucket.put("a.txt", "hello world")
    bucket.world.calls.plan(0, fail_silently)
    with pytest.raises(Unavailable):
        bucket.tell("a.txt", "01")
    bucket.world.end_leases()
    bucket.tell("a.txt", "01")
    assert bucket.texts("a.txt") == ["hello world"]
    assert bucket.world.list_waiting() == []

    bucket.remove("a.txt")
    bucket.world.calls.plan(0, fail_silently)
    with pytest.raises(Unavailable):
        bucket.tell("a.txt", "02", removed=True)
    bucket.world.end_leases()
    bucket.tell("a.txt", "02", removed=True)
    assert bucket.world.live_ids() == []
    assert bucket.world.list_waiting() == []


def fail_silently() -> None:
    raise IndexUnavailable


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("0055AED6DCD90281E5", "0055AED6DCD90281E51"), ("09FF", "0A"), ("0a", "0B")],
)
def test_o04_sequencers_are_compared_right_padded(bucket: Bucket, earlier: str, later: str) -> None:
    bucket.put("a.txt", "one")
    bucket.tell("a.txt", later)
    bucket.remove("a.txt")
    bucket.tell("a.txt", earlier, removed=True)  # overtaken: there is something newer
    assert bucket.texts("a.txt") == ["one"]


def test_events_in_any_order_end_in_the_present_state(bucket: Bucket) -> None:
    # Created (1), removed (2), created again (3): the object is there.
    bucket.put("a.txt", "third")
    for order in ("123", "132", "213", "231", "312", "321"):
        name = f"{order}.txt"
        bucket.put(name, "third")
        for sequencer in order:
            bucket.tell(name, sequencer, removed=sequencer == "2")
        assert bucket.texts(name) == ["third"], order
    assert bucket.world.counts() == bucket.world.recount() == (6, 0)


def test_events_of_an_object_that_is_gone_end_in_its_absence(bucket: Bucket) -> None:
    for order in ("123", "132", "213", "231", "312", "321"):
        name = f"{order}.txt"
        bucket.put(name, "old")
        bucket.tell(name, "0")
        bucket.remove(name)
        for sequencer in order:
            bucket.tell(name, sequencer, removed=sequencer == "3")
        assert bucket.texts(name) == [], order
    assert bucket.world.counts() == bucket.world.recount() == (0, 0)


def test_a_late_removal_does_not_end_what_was_sent_again_unchanged(bucket: Bucket) -> None:
    bucket.put("a.txt", "one")
    bucket.tell("a.txt", "01")
    bucket.tell("a.txt", "03")  # the same bytes: nothing to index, but the newest event
    bucket.tell("a.txt", "02", removed=True)
    assert bucket.texts("a.txt") == ["one"]


def test_a_late_creation_does_not_revive_what_was_removed_twice(bucket: Bucket) -> None:
    bucket.put("a.txt", "one")
    bucket.tell("a.txt", "01")
    for sequencer in ("02", "05"):
        bucket.tell("a.txt", sequencer, removed=True)
    bucket.tell("a.txt", "04")
    assert bucket.find("a.txt").deleted_at is not None


def test_without_a_sequencer_the_present_state_wins(bucket: Bucket) -> None:
    bucket.put("a.txt", "one")
    bucket.tell("a.txt")
    bucket.tell("a.txt", removed=True)  # late: the object is there
    assert bucket.texts("a.txt") == ["one"]
    bucket.put("a.txt", "two")
    bucket.tell("a.txt")
    assert bucket.texts("a.txt") == ["two"]
    bucket.remove("a.txt")
    bucket.tell("a.txt")  # a creation whose object is gone by now
    assert bucket.find("a.txt").deleted_at is not None


SIDECAR = "a.txt.metadata.json"
ENGLISH = {"metadataAttributes": {"lang": "en", "year": 2024}}


def test_l26_a_sidecar_before_or_after_its_file_ends_in_the_same_state(bucket: Bucket) -> None:
    for first, second in ((SIDECAR, "a.txt"), ("b.txt", "b.txt.metadata.json")):
        for name in (first, second):
            bucket.put(name, ENGLISH if name.endswith(".json") else "text")
            bucket.tell(name, "01")
    assert bucket.find("a.txt").metadata == bucket.find("b.txt").metadata
    assert bucket.find("a.txt").metadata == {"lang": "en", "year": 2024}
    assert bucket.world.recount() == (2, 0)  # a sidecar is no document


def test_l26_a_changed_or_removed_sidecar_changes_metadata_alone(bucket: Bucket) -> None:
    bucket.put("a.txt", "text")
    bucket.put(SIDECAR, ENGLISH)
    bucket.tell("a.txt", "05")
    calls = list(bucket.world.calls.names)
    bucket.put(SIDECAR, {"metadataAttributes": {"lang": "zh"}})
    bucket.tell(SIDECAR, "02")  # its own order, not the file's
    assert bucket.find("a.txt").metadata == {"lang": "zh"}
    bucket.remove(SIDECAR)
    bucket.tell(SIDECAR, "03", removed=True)
    assert bucket.find("a.txt").metadata == {}
    assert bucket.world.calls.names == calls
    assert bucket.texts("a.txt") == ["text"]


def test_l26_a_sidecar_without_a_file_waits_and_is_reported(
    bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.put(SIDECAR, ENGLISH)
    bucket.tell(SIDECAR, "01")
    assert bucket.world.recount() == (0, 0)
    [told] = [each for each in caplog.records if "waits for its file" in each.getMessage()]
    assert vars(told)["key"] == bucket.key(SIDECAR)


@pytest.mark.parametrize(
    "sidecar",
    [
        "{",
        "[]",
        "{}",
        '{"metadataAttributes": []}',
        '{"metadataAttributes": {"lang": NaN}}',
        '{"metadataAttributes": {"source": "built-in"}}',
        '{"metadataAttributes": {"lang": "a\\u0000b"}}',
        '{"metadataAttributes": {"lang": "\\ud800"}}',
        '{"metadataAttributes": {"a\\u0000": 1}}',
        b"\xff\xfe{",
        "[" * 100_000,
        '{"metadataAttributes": {"lang": "%s"}}' % ("x" * 70_000),
        " " * 1_000_001,
    ],
)
def test_l26_a_broken_sidecar_puts_its_document_in_error_naming_it(
    bucket: Bucket, sidecar: str | bytes
) -> None:
    bucket.put("a.txt", "text")
    bucket.put(SIDECAR, sidecar)
    with pytest.raises(DocumentRefused):
        bucket.tell("a.txt", "01")
    document = bucket.find("a.txt")
    assert (document.indexing_status, document.error_code) == (IndexingStatus.ERROR, "sidecar")
    assert document.error is not None
    assert document.error.startswith(f"{SIDECAR}: ")
    assert len(document.error) < 1_000
    bucket.put(SIDECAR, ENGLISH)
    bucket.tell(SIDECAR, "01")
    assert bucket.texts("a.txt") == ["text"]
    assert bucket.find("a.txt").error is None


def test_a_sidecar_that_broke_leaves_the_live_document_as_it_was(bucket: Bucket) -> None:
    bucket.put("a.txt", "text")
    bucket.put(SIDECAR, ENGLISH)
    bucket.tell("a.txt", "01")
    bucket.put(SIDECAR, "{")
    with pytest.raises(DocumentRefused):
        bucket.tell(SIDECAR, "02")
    assert bucket.find("a.txt").indexing_status is IndexingStatus.ERROR
    assert bucket.find("a.txt").metadata == ENGLISH["metadataAttributes"]
    assert bucket.texts("a.txt") == ["text"]


def test_an_object_over_the_limit_is_refused_without_being_read(bucket: Bucket) -> None:
    limit = bucket.world.parts.max_bytes
    bucket.put("a.txt", "x" * (limit + 1))
    for _ in range(2):  # a redelivery fails again
        with pytest.raises(DocumentRefused, match=str(limit)):
            bucket.tell("a.txt", "01")
    assert bucket.world.objects.reads == []
    assert bucket.find("a.txt").error_code == "too_large"
    bucket.put("a.txt", "x" * limit)
    bucket.tell("a.txt", "02")
    assert bucket.texts("a.txt")


@pytest.mark.parametrize("data", [b"", b"\xff\x01", b"a\x00"])
@pytest.mark.parametrize("sequencer", ["01", None])
def test_a_redelivered_event_of_a_refused_object_fails_again(
    bucket: Bucket, data: bytes, sequencer: str | None
) -> None:
    bucket.put("a.txt", data)
    for _ in range(3):
        with pytest.raises(DocumentRefused):
            bucket.tell("a.txt", sequencer)
    assert bucket.find("a.txt").indexing_status is IndexingStatus.ERROR


@pytest.mark.parametrize(
    "make",
    [
        lambda _: "other/a.txt",
        lambda _: "datasets/not-an-id/a.txt",
        lambda _: "datasets/00000000-0000-4000-8000-000000000000/a.txt",
        lambda id_: f"datasets/{id_}/folder/",
        lambda id_: f"datasets/{id_}",
        lambda id_: f"datasets/{id_.upper()}/a.txt",
        lambda id_: f"/datasets/{id_}/a.txt",
    ],
)
def test_a_key_that_names_no_dataset_is_refused(bucket: Bucket, make: Callable[[str], str]) -> None:
    key = make(bucket.world.dataset.id)
    with pytest.raises(ChangeMalformed):
        bucket.deliver(ObjectChange("b", key, False, "01"))
    assert bucket.world.recount() == (0, 0)


def test_a_declared_type_refuses_an_object_whose_sidecar_does_not_fit(bucket: Bucket) -> None:
    with transaction(bucket.world.engine) as connection:
        declare_field(connection, bucket.world.dataset.id, "n", FieldType.NUMBER)
    bucket.put("a.txt", "hello world")
    bucket.put("a.txt.metadata.json", {"metadataAttributes": {"n": "5", "m": "x"}})
    bucket.tell("a.txt", "01")
    assert bucket.find("a.txt").indexing_status is IndexingStatus.COMPLETED
    bucket.put("a.txt.metadata.json", {"metadataAttributes": {"n": "five", "m": "y"}})
    with pytest.raises(DocumentRefused) as refused:
        bucket.tell("a.txt.metadata.json", "02")
    document = bucket.find("a.txt")
    assert refused.value.code == document.error_code == "metadata"
    assert "/metadataAttributes/n" in (document.error or "")
    assert document.metadata == {"n": "5", "m": "x"}  # what is live keeps what it is found by
    assert bucket.texts("a.txt") == ["hello world"]
    bucket.put("a.txt.metadata.json", {"metadataAttributes": {"n": None, "m": "y"}})
    bucket.tell("a.txt.metadata.json", "03")
    assert bucket.find("a.txt").indexing_status is IndexingStatus.COMPLETED
    assert bucket.find("a.txt").metadata == {"n": None, "m": "y"}
