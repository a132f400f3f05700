"""What every queue of changes does: the fake, SQS, the local one."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from boto3.session import Session

from shared.model import Action, Change
from shared.ports import ChangeQueue
from shared.queue.local import LocalQueue
from shared.queue.messages import read_change
from shared.queue.sqs import SqsQueue
from tests.fakes.queue import FakeChangeQueue


@dataclass(frozen=True)
class Ends:
    """Both ends: the queue, and what somebody at its other end notices."""

    queue: ChangeQueue
    has_news: Callable[[], bool]
    read: Callable[[], list[Change]] | None  # None: it carries no messages


def make_fake(_request: pytest.FixtureRequest) -> Ends:
    fake = FakeChangeQueue()
    return Ends(fake, lambda: bool(fake.messages), lambda: [read_change(m) for m in fake.messages])


def make_sqs(request: pytest.FixtureRequest) -> Ends:
    url = request.getfixturevalue("aws")
    client = Session().client("sqs", endpoint_url=url)
    queue_url = client.create_queue(QueueName=uuid.uuid4().hex)["QueueUrl"]

    def receive() -> list[Change]:
        received: list[Change] = []
        while messages := _receive(client, queue_url):
            received.extend(read_change(message["Body"]) for message in messages)
        return received

    return Ends(
        SqsQueue(queue_url, endpoint_url=url), lambda: bool(_receive(client, queue_url)), receive
    )


def _receive(client: Any, url: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10
    ).get("Messages", [])
    return messages


def make_local(_request: pytest.FixtureRequest) -> Ends:
    local = LocalQueue()
    return Ends(local, lambda: local.wait(0), None)


@pytest.fixture(params=[make_fake, make_sqs, make_local], ids=["fake", "sqs", "local"])
def ends(request: pytest.FixtureRequest) -> Ends:
    make: Callable[[pytest.FixtureRequest], Ends] = request.param
    return make(request)


def changes(count: int) -> list[Change]:
    actions = list(Action)
    ids = [str(uuid.UUID(int=n)) for n in range(count + 2)]
    return [
        Change(ids[0], ids[1], ids[n + 2], version=n, action=actions[n % len(actions)])
        for n in range(count)
    ]


@pytest.mark.parametrize("count", [1, 10, 11, 25])
def test_the_other_end_hears_of_each_change(ends: Ends, count: int) -> None:
    sent = changes(count)
    ends.queue.send(sent)
    if ends.read is None:
        assert ends.has_news()
    else:
        assert sorted(ends.read(), key=lambda change: change.version) == sent


def test_a_change_sent_twice_is_told_at_least_once(ends: Ends) -> None:
    sent = changes(1)
    ends.queue.send(sent)
    ends.queue.send(sent)
    if ends.read is None:
        assert ends.has_news()
    else:
        assert ends.read() == sent * 2


def test_sending_nothing_tells_nothing(ends: Ends) -> None:
    ends.queue.send([])
    assert not ends.has_news()
