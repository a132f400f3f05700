"""Batches of SQS records: what fails comes back alone, the rest goes through."""

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from sqlalchemy import Engine

from functions.ingest import handler
from shared.errors import ChangeMalformed, EmbedderRefused
from shared.model import Action, Change, IndexingStatus
from shared.queue.messages import write_change
from shared.settings import DEFAULT_TENANT
from tests.integration.functions.ingest.world import World


@pytest.fixture
def world(database: Engine, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(database)
    monkeypatch.setattr(handler, "build_parts", lambda: world.parts)
    return world


def take(*bodies: str, deliveries: int = 2) -> list[str]:
    """Delivers messages named 0, 1, 2 … again, and returns the names of those that come back."""
    records = [
        {
            "messageId": str(n),
            "receiptHandle": "",
            "body": body,
            "attributes": {"ApproximateReceiveCount": str(deliveries)},
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:1:q",
            "awsRegion": "us-east-1",
        }
        for n, body in enumerate(bodies)
    ]
    answer = handler.lambda_handler({"Records": records}, LambdaContext())
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def take_first(*bodies: str) -> list[str]:
    """The same, as what was never delivered, or came back out of the dead letters."""
    return take(*bodies, deliveries=1)


def message(change: Change | None) -> str:
    assert change is not None
    return write_change(change)


@pytest.mark.parametrize("event", [{}, {"Records": None}, {"source": "aws.s3", "detail": {}}])
def test_an_event_that_is_no_batch_is_an_error_of_the_function(event: Any) -> None:
    with pytest.raises(ChangeMalformed, match="no batch"):
        handler.lambda_handler(event, LambdaContext())
    assert handler.lambda_handler({"Records": []}, LambdaContext()) == {"batchItemFailures": []}


def poison(world: World, name: str) -> str:
    return message(world.put_bytes(name, b"\xff\x01", "text/plain"))


def notification(world: World, *names: str, event: str = "ObjectCreated:Put", **more: Any) -> str:
    return json.dumps(
        {
            "Records": [
                {
                    "eventName": event,
                    "s3": {
                        "bucket": {"name": "b"},
                        "object": {
                            "key": f"datasets/{world.dataset.id}/{name}",
                            "sequencer": "01",
                        }
                        | more,
                    },
                }
                for name in names
            ]
        }
    )


@pytest.mark.parametrize("size", [1, 3])
def test_o07_a_batch_that_is_all_poison_comes_back_whole_without_an_error_of_the_function(
    world: World, size: int
) -> None:
    names = "abc"[:size]
    bodies = [poison(world, name) for name in names]
    for _ in range(3):  # as often as the queue delivers it, until the dead-letter queue has it
        assert take(*bodies) == [str(n) for n in range(size)]
        world.end_leases()
    for name in names:
        assert world.find(name).indexing_status is IndexingStatus.ERROR
        assert world.find(name).error_code == "encoding"


def test_a_message_out_of_the_dead_letters_has_its_document_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise EmbedderRefused("too long")

    body = message(world.put("a", "one"))
    with monkeypatch.context() as patch:
        patch.setattr(world.embedder, "embed_passages", refuse)
        for _ in range(5):
            assert take(body) == ["0"]
            world.end_leases()
    assert take(body) == ["0"]  # while it is delivered again and again, nothing is tried for ever
    assert world.find("a").error == "too long"
    assert take_first(body) == []
    assert world.live_texts("a") == ["one"]
    assert world.find("a").error is None
    assert take_first(body) == []  # one that was done is nothing


def test_a_document_that_fails_again_out_of_the_dead_letters_goes_back_there(world: World) -> None:
    body = poison(world, "a")
    for _ in range(2):
        assert take_first(body) == ["0"]
        assert take(body) == ["0"]
    assert world.find("a").error_code == "encoding"
    assert world.list_waiting() == []


def test_an_object_out_of_the_dead_letters_is_taken_as_it_is_now(world: World) -> None:
    key = f"datasets/{world.dataset.id}/a.txt"
    world.objects.put(key, b"x" * 2_000)
    body = notification(world, "a.txt")
    assert take_first(body) == ["0"]
    assert "2000 bytes" in (world.find(f"s3://b/{key}").error or "")
    world.objects.put(key, b"shorter")  # of which no event tells
    assert take(body) == ["0"]
    assert take_first(body) == []
    assert world.live_texts(f"s3://b/{key}") == ["shorter"]


def test_o07_one_poison_message_of_ten_fails_alone(world: World) -> None:
    bodies = [message(world.put(name, f"text of {name}")) for name in "abcdefghi"]
    bodies.insert(4, poison(world, "poison"))
    assert take(*bodies) == ["4"]
    for name in "abcdefghi":
        assert world.live_texts(name) == [f"text of {name}"]


@pytest.mark.parametrize(
    "body",
    [
        "not JSON",
        "",
        "[]",
        "null",
        "{}",
        '{"schema": 2}',
        '{"source": "aws.ec2"}',
        "[" * 100_000,
        json.dumps({"Records": [{"eventName": "ObjectRestore:Post", "s3": {"object": {}}}]}),
        json.dumps({"Records": [{}]}),
        json.dumps({"Records": "x"}),
    ],
)
def test_o07_a_message_that_is_nothing_for_us_fails_alone(world: World, body: str) -> None:
    assert take(message(world.put("a", "one")), body, message(world.put("b", "two"))) == ["1"]
    assert world.live_texts("a") == ["one"]
    assert world.live_texts("b") == ["two"]


def test_o07_a_test_event_of_s3_and_an_empty_list_fail_nothing(world: World) -> None:
    test_event = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})
    assert take(test_event, json.dumps({"Records": []})) == []
    assert take() == []
    assert world.calls.names == []


def test_objects_and_changes_come_through_the_same_queue(world: World) -> None:
    world.objects.put(f"datasets/{world.dataset.id}/a.txt", b"from a bucket")
    eventbridge = {
        "source": "aws.s3",
        "detail-type": "Object Created",
        "detail": {
            "bucket": {"name": "b"},
            "object": {"key": f"datasets/{world.dataset.id}/c.txt", "sequencer": "01"},
        },
    }
    world.objects.put(f"datasets/{world.dataset.id}/c.txt", b"by EventBridge")
    bodies = [
        notification(world, "a.txt"),
        message(world.put("b", "sent")),
        json.dumps(eventbridge),
    ]
    assert take(*bodies) == []
    base = f"s3://b/datasets/{world.dataset.id}"
    assert world.live_texts(f"{base}/a.txt") == ["from a bucket"]
    assert world.live_texts("b") == ["sent"]
    assert world.live_texts(f"{base}/c.txt") == ["by EventBridge"]


def test_a_bad_object_does_not_keep_the_others_of_its_message_from_going_in(world: World) -> None:
    for name, data in {"a.txt": b"one", "bad.txt": b"\xff\x01", "b.txt": b"two"}.items():
        world.objects.put(f"datasets/{world.dataset.id}/{name}", data)
    body = notification(world, "bad.txt", "a.txt", "b.txt")
    for _ in range(2):
        assert take(body) == ["0"]
        assert world.counts() == (2, 0)


def test_a_key_is_decoded_as_notifications_write_it(world: World) -> None:
    world.objects.put(f"datasets/{world.dataset.id}/退款 +1.txt", "退款".encode())
    assert take(notification(world, "%E9%80%80%E6%AC%BE+%2B1.txt")) == []
    assert world.find(f"s3://b/datasets/{world.dataset.id}/退款 +1.txt").name == "退款 +1.txt"


@pytest.mark.parametrize(
    "more",
    [
        {"key": "datasets/%00.txt"},
        {"key": "datasets/\ud800.txt"},
        {"key": 5},
        {"sequencer": 5},
        {"sequencer": "\u0000"},
    ],
)
def test_what_is_no_text_in_an_event_fails_that_record(world: World, more: dict[str, Any]) -> None:
    assert take(notification(world, "a.txt", **more)) == ["0"]
    assert world.recount() == (0, 0)


def test_a_deletion_by_message(world: World) -> None:
    assert take(message(world.put("a", "one"))) == []
    assert take(message(world.delete("a"))) == []
    assert world.index.list_ids(world.dataset.id) == []


@pytest.mark.parametrize("event", ["ObjectRemoved:Delete", "LifecycleExpiration:Delete"])
def test_the_removal_of_an_old_version_leaves_what_is_there(world: World, event: str) -> None:
    key = f"datasets/{world.dataset.id}/a.txt"
    world.objects.put(key, b"newest")
    assert take(notification(world, "a.txt")) == []
    removal = notification(world, "a.txt", event=event, versionId="old", sequencer="02")
    assert take(removal) == []
    assert world.live_texts(f"s3://b/{key}") == ["newest"]
    world.objects.remove(key)
    removal = notification(world, "a.txt", event=event, versionId="last", sequencer="03")
    assert take(removal) == []
    assert world.live_texts(f"s3://b/{key}") == []


def test_an_outage_brings_the_record_back_and_the_next_delivery_ends_it(world: World) -> None:
    body = message(world.put("a", "one"))
    world.embedder.broken = "asleep"
    assert take(body) == ["0"]
    world.embedder.broken = None
    world.end_leases()
    assert take(body) == []
    assert world.live_texts("a") == ["one"]


def test_a_message_of_an_unknown_document_is_nothing(world: World) -> None:
    unknown = Change(DEFAULT_TENANT, world.dataset.id, str(uuid.uuid4()), 1, Action.PROCESS)
    assert take(write_change(unknown)) == []


def test_batches_of_two_threads_at_once_are_kept_apart(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = message(world.put("good", "text")), poison(world, "bad")
    both_begun = threading.Barrier(2, timeout=20)
    take_one = handler._take_one

    def meet(*arguments: Any) -> Any:
        both_begun.wait()
        return take_one(*arguments)

    monkeypatch.setattr(handler, "_take_one", meet)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(take, [good, bad])) == [[], ["0"]]
    assert world.find("good").indexing_status is IndexingStatus.COMPLETED
    assert world.find("bad").indexing_status is IndexingStatus.ERROR
