"""Moving dead letters back, at a double of SQS."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from boto3.session import Session

from shared.errors import Unavailable
from shared.queue.dead_letters import DeadLetters


@dataclass(frozen=True)
class Queues:
    """A queue, and the one of its dead letters."""

    client: Any
    url: str
    dead_url: str
    endpoint: str

    def fill(self, *bodies: str) -> None:
        for body in bodies:
            self.client.send_message(QueueUrl=self.dead_url, MessageBody=body)

    def read(self, url: str) -> list[str]:
        found: list[str] = []
        while messages := self.client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            found += [message["Body"] for message in messages]
        return found


@pytest.fixture
def queues(aws: str) -> Queues:
    client = Session().client("sqs", endpoint_url=aws)
    dead_url = client.create_queue(QueueName=uuid.uuid4().hex)["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=dead_url, AttributeNames=["QueueArn"])
    policy = {"deadLetterTargetArn": arn["Attributes"]["QueueArn"], "maxReceiveCount": 5}
    url = client.create_queue(
        QueueName=uuid.uuid4().hex, Attributes={"RedrivePolicy": json.dumps(policy)}
    )["QueueUrl"]
    return Queues(client, url, dead_url, aws)


def test_every_message_goes_back_as_it_was(queues: Queues) -> None:
    bodies = [json.dumps({"n": n, "key": "手册/退款.md"}) for n in range(23)]
    queues.fill(*bodies, "not JSON")
    batches: list[int] = []
    assert DeadLetters(queues.dead_url, endpoint_url=queues.endpoint).redrive(batches.append) == 24
    assert sorted(queues.read(queues.url)) == sorted([*bodies, "not JSON"])
    assert queues.read(queues.dead_url) == []
    assert sum(batches) == 24


def test_none_is_fine(queues: Queues) -> None:
    assert DeadLetters(queues.dead_url, endpoint_url=queues.endpoint).redrive() == 0


def test_what_the_queue_does_not_take_stays_where_it_was(
    queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues.fill("a", "b")
    letters = DeadLetters(queues.dead_url, endpoint_url=queues.endpoint)

    def take_one(**asked: Any) -> dict[str, Any]:
        return {"Successful": asked["Entries"][:1], "Failed": asked["Entries"][1:]}

    monkeypatch.setattr(letters._client, "send_message_batch", take_one)
    with pytest.raises(Unavailable, match="did not take every message"):
        letters.redrive()
    attributes = queues.client.get_queue_attributes(
        QueueUrl=queues.dead_url, AttributeNames=["ApproximateNumberOfMessagesNotVisible"]
    )["Attributes"]
    assert attributes == {"ApproximateNumberOfMessagesNotVisible": "2"}


def test_a_queue_that_has_no_dead_letters_of_others_is_refused(queues: Queues) -> None:
    with pytest.raises(Unavailable, match="0 queues"):
        DeadLetters(queues.url, endpoint_url=queues.endpoint).redrive()


def test_an_unknown_queue_is_told(queues: Queues) -> None:
    with pytest.raises(Unavailable, match="SQS answered"):
        DeadLetters(queues.dead_url + "x", endpoint_url=queues.endpoint).redrive()
