"""A queue that gives up what keeps failing: of a batch the poison alone, and never for good."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from boto3.session import Session
from sqlalchemy import Engine

from functions.ingest import handler
from shared.errors import EmbedderRefused
from shared.model import Change, IndexingStatus, Vector
from shared.queue.dead_letters import DeadLetters
from shared.queue.messages import write_change
from shared.queue.sqs import SqsQueue
from tests.integration.functions.ingest.world import World

MOST_RECEIVES = 5  # as in template.yaml


class Queue:
    """A queue that hands its messages over as Lambda does, and gives up the fifth time."""

    def __init__(self, endpoint: str) -> None:
        self._client = Session().client("sqs", endpoint_url=endpoint)
        self._dead = self._client.create_queue(QueueName=uuid.uuid4().hex)["QueueUrl"]
        arn = self._client.get_queue_attributes(QueueUrl=self._dead, AttributeNames=["QueueArn"])
        policy = {
            "deadLetterTargetArn": arn["Attributes"]["QueueArn"],
            "maxReceiveCount": MOST_RECEIVES,
        }
        self._url = self._client.create_queue(
            QueueName=uuid.uuid4().hex, Attributes={"RedrivePolicy": json.dumps(policy)}
        )["QueueUrl"]
        self.changes = SqsQueue(self._url, endpoint_url=endpoint)
        self.dead_letters = DeadLetters(self._dead, endpoint_url=endpoint)

    def deliver(self) -> int:
        """Hands over what is there, and returns how many messages that were."""
        received = self._client.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
        ).get("Messages", ())
        records = [
            {"messageId": m["MessageId"], "body": m["Body"], "attributes": m["Attributes"]}
            for m in received
        ]
        answer = handler.lambda_handler({"Records": records}, LambdaContext())
        failed = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        for message in received:
            which: dict[str, Any] = {
                "QueueUrl": self._url,
                "ReceiptHandle": message["ReceiptHandle"],
            }
            if message["MessageId"] in failed:
                self._client.change_message_visibility(**which, VisibilityTimeout=0)
            else:
                self._client.delete_message(**which)
        return len(received)

    def deliver_again(self, world: World) -> int:
        """Hands over what came back, once its documents are free again."""
        world.end_leases()
        return self.deliver()

    def read_dead(self) -> list[str]:
        answer = self._client.receive_message(
            QueueUrl=self._dead, MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        return [message["Body"] for message in answer.get("Messages", ())]


@pytest.fixture
def queue(aws: str) -> Queue:
    return Queue(aws)


@pytest.fixture
def world(database: Engine, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(database)
    monkeypatch.setattr(handler, "build_parts", lambda: world.parts)
    return world


def put(world: World, name: str) -> Change:
    change = world.put(name, f"text of {name}")
    assert change is not None
    return change


def test_poison_alone_ends_among_the_dead_letters_and_goes_in_once_it_can(
    world: World, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {name: put(world, name) for name in "abcdefghij"}
    embed = world.embedder.embed_passages

    def refuse_one(texts: Sequence[str]) -> Sequence[Vector]:
        if "text of e" in texts:
            raise EmbedderRefused("this text is nothing for the model")
        return embed(texts)

    queue.changes.send(list(changes.values()))
    with monkeypatch.context() as patch:
        patch.setattr(world.embedder, "embed_passages", refuse_one)
        world.embedder.broken = "the model sleeps"
        queue.deliver()  # an outage: all of them come back
        world.embedder.broken = None
        delivered = [queue.deliver_again(world)]
        while delivered[-1]:
            delivered.append(queue.deliver_again(world))
    assert delivered == [10, 1, 1, 1, 0]  # five times in all, and given up
    assert queue.read_dead() == [write_change(changes["e"])]
    poison = world.find("e")
    assert (poison.indexing_status, poison.error_code) == (IndexingStatus.ERROR, "embedding")
    assert poison.error == "this text is nothing for the model"
    for name in changes.keys() - "e":
        assert world.live_texts(name) == [f"text of {name}"]

    assert queue.dead_letters.redrive() == 1  # the model is another by now
    assert queue.deliver() == 1
    assert world.live_texts("e") == ["text of e"]
    assert world.find("e").error is None
    assert (queue.read_dead(), queue.deliver(), world.list_waiting()) == ([], 0, [])
