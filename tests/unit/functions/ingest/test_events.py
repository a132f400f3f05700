import json
from typing import Any

import pytest

from functions.ingest.events import ObjectChange, parse_record
from shared.errors import ChangeMalformed
from shared.model import Action, Change
from shared.queue.messages import write_change

CHANGE = Change(
    "00000000-0000-0000-0000-000000000001",
    "00000000-0000-0000-0000-000000000002",
    "00000000-0000-0000-0000-000000000003",
    7,
    Action.PROCESS,
)


def notified(name: str, **subject: Any) -> dict[str, Any]:
    return {"eventName": name, "s3": {"bucket": {"name": "b"}, "object": subject}}


def test_a_change_of_ours() -> None:
    assert parse_record(write_change(CHANGE)) == [CHANGE]


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("ObjectCreated:Put", False),
        ("ObjectCreated:CompleteMultipartUpload", False),
        ("ObjectRemoved:Delete", True),
        ("ObjectRemoved:DeleteMarkerCreated", True),
        ("LifecycleExpiration:Delete", True),
        ("LifecycleExpiration:DeleteMarkerCreated", True),
    ],
)
def test_a_notification(name: str, removed: bool) -> None:
    record = notified(name, key="a+b%2B%C3%BC.txt", sequencer="0A", size=3)
    assert parse_record(json.dumps({"Records": [record]})) == [
        ObjectChange("b", "a b+ü.txt", removed, "0A")
    ]


def test_a_notification_of_several_objects_keeps_their_order() -> None:
    records = [notified("ObjectCreated:Put", key=key) for key in "ab"]
    found = parse_record(json.dumps({"Records": records}))
    assert found == [ObjectChange("b", key, False, None) for key in "ab"]


def test_a_sequencer_that_is_empty_is_none() -> None:
    record = notified("ObjectCreated:Put", key="a", sequencer="")
    assert parse_record(json.dumps({"Records": [record]})) == [ObjectChange("b", "a", False, None)]


@pytest.mark.parametrize(("kind", "removed"), [("Object Created", False), ("Object Deleted", True)])
def test_an_event_of_eventbridge_whose_key_is_plain(kind: str, removed: bool) -> None:
    subject = {"key": "a+b%2B.txt", "sequencer": "0A", "size": 3}
    detail = {"bucket": {"name": "b"}, "object": subject}
    event = {"source": "aws.s3", "detail-type": kind, "detail": detail}
    assert parse_record(json.dumps(event)) == [ObjectChange("b", "a+b%2B.txt", removed, "0A")]


@pytest.mark.parametrize(
    ("name", "deletion", "sequencer"),
    [
        ("ObjectCreated:Put", None, "0A"),
        ("ObjectRemoved:DeleteMarkerCreated", "Delete Marker Created", "0A"),
        ("ObjectRemoved:Delete", "Permanently Deleted", None),
        ("LifecycleExpiration:Delete", "Permanently Deleted", None),
    ],
)
def test_the_removal_of_one_version_of_many_orders_nothing(
    name: str, deletion: str | None, sequencer: str | None
) -> None:
    record = notified(name, key="a", sequencer="0A", versionId="v1")
    detail: dict[str, Any] = {
        "bucket": {"name": "b"},
        "object": {"key": "a", "sequencer": "0A", "version-id": "v1"},
    }
    kind = "Object Deleted" if deletion else "Object Created"
    detail |= {"deletion-type": deletion} if deletion else {}
    event = {"source": "aws.s3", "detail-type": kind, "detail": detail}
    expected = [ObjectChange("b", "a", deletion is not None, sequencer)]
    assert parse_record(json.dumps({"Records": [record]})) == expected
    assert parse_record(json.dumps(event)) == expected


def test_the_test_event_of_s3_asks_for_nothing() -> None:
    assert parse_record('{"Service": "Amazon S3", "Event": "s3:TestEvent"}') == []


def test_the_mark_of_a_folder_asks_for_nothing() -> None:
    records = [notified("ObjectCreated:Put", key=key) for key in ["datasets/d/%E5%BA%93/", "a"]]
    found = parse_record(json.dumps({"Records": records}))
    assert found == [ObjectChange("b", "a", False, None)]
    detail = {"bucket": {"name": "b"}, "object": {"key": "datasets/d/folder/", "size": 0}}
    event = {"source": "aws.s3", "detail-type": "Object Created", "detail": detail}
    assert parse_record(json.dumps(event)) == []


@pytest.mark.parametrize(
    "message",
    [
        "",
        "{",
        "nan",
        "5",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({"Records": None}),
        json.dumps({"Records": [None]}),
        json.dumps({"Records": [notified("ObjectRestore:Post", key="a")]}),
        json.dumps({"Records": [notified("ObjectCreated:Put")]}),
        json.dumps({"Records": [notified("ObjectCreated:Put", key="a%00")]}),
        json.dumps({"Records": [notified("ObjectCreated:Put", key="a", sequencer=1)]}),
        json.dumps({"source": "aws.s3", "detail-type": ["Object Created"], "detail": {}}),
        json.dumps({"source": "aws.s3"}),
        json.dumps({"source": "aws.s3", "detail-type": "Object Created"}),
        json.dumps({"source": "aws.s3", "detail-type": "Object Created", "detail": []}),
        json.dumps({"source": "aws.s3", "detail-type": "Object Tags Added", "detail": {}}),
        json.dumps(
            {
                "source": "aws.s3",
                "detail-type": "Object Deleted",
                "detail": {"deletion-type": "Permanently Deleted", "object": [], "bucket": {}},
            }
        ),
        json.dumps(
            {
                "source": "aws.s3",
                "detail-type": "Object Created",
                "detail": {"bucket": {"name": "b"}, "object": {"key": "\ud800"}},
            }
        ),
        json.dumps(
            {
                "source": "aws.s3",
                "detail-type": "Object Created",
                "detail": {"bucket": {"name": "b"}, "object": {"key": 5}},
            }
        ),
    ],
)
def test_what_is_no_event_of_ours_is_refused(message: str) -> None:
    with pytest.raises(ChangeMalformed):
        parse_record(message)
