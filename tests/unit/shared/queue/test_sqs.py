"""What SQS answers and how often it is asked, with a stand-in for its client."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from shared.errors import Unavailable
from shared.model import Action, Change
from shared.queue.messages import read_change
from shared.queue.sqs import SqsQueue
from tests.servers.aws import AWS_ENVIRONMENT, running_aws
from tests.servers.silence import silent_server

type Entries = list[dict[str, str]]
type Answer = Callable[[Entries], dict[str, Any]]
ID = str(uuid.UUID(int=1))


class StubClient:
    """Answers each batch by the next of its answers, then takes everything."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.batches: list[Entries] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: Entries) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "http://queue"
        self.batches.append(Entries)
        return self.answers.pop(0)(Entries) if self.answers else take_all(Entries)


def take_all(entries: Entries) -> dict[str, Any]:
    return {"Successful": [{"Id": entry["Id"]} for entry in entries]}


def fail(*names: str, silent: bool = False) -> Answer:
    def answer(entries: Entries) -> dict[str, Any]:
        taken = take_all([entry for entry in entries if entry["Id"] not in names])
        failed = [{"Id": n, "Code": "InternalError", "SenderFault": False} for n in names]
        return taken if silent else taken | {"Failed": failed}

    return answer


def queue_on(client: StubClient, monkeypatch: pytest.MonkeyPatch) -> SqsQueue:
    monkeypatch.setattr("shared.queue.sqs.open_sqs", lambda *_: client)
    return SqsQueue("http://queue")


def changes(count: int) -> list[Change]:
    return [Change(ID, ID, ID, n, Action.PROCESS) for n in range(count)]


def versions(batch: Entries) -> list[int]:
    return [read_change(entry["MessageBody"]).version for entry in batch]


def test_changes_go_in_order_ten_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StubClient()
    queue_on(client, monkeypatch).send(changes(23))
    assert [versions(batch) for batch in client.batches] == [
        [*range(10)],
        [*range(10, 20)],
        [20, 21, 22],
    ]
    for batch in client.batches:
        assert len({entry["Id"] for entry in batch}) == len(batch)


@pytest.mark.parametrize("silent", [False, True], ids=["failed", "not mentioned"])
def test_an_entry_that_was_not_taken_is_sent_again_alone(
    monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    client = StubClient(fail("1", "3", silent=silent), fail("3", silent=silent))
    queue_on(client, monkeypatch).send(changes(5))
    assert [versions(batch) for batch in client.batches] == [[0, 1, 2, 3, 4], [1, 3], [3]]


def test_an_entry_that_is_never_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StubClient(*[fail("1", "2")] * 9)
    with pytest.raises(Unavailable, match="did not take 2 of 5 changes"):
        queue_on(client, monkeypatch).send(changes(5))
    assert len(client.batches) == 3


def test_no_changes_ask_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StubClient()
    queue_on(client, monkeypatch).send([])
    assert client.batches == []


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("aws_environment")
def test_a_queue_that_is_not_there_is_told() -> None:
    with running_aws() as url:
        queue = SqsQueue(f"{url}/123456789012/gone", endpoint_url=url)
        with pytest.raises(Unavailable, match=r"SQS answered AWS\.SimpleQueueService"):
            queue.send(changes(1))


@pytest.mark.usefixtures("aws_environment")
def test_o10_a_silent_server_is_left_after_the_time_limit() -> None:
    with silent_server() as url:
        queue = SqsQueue(f"{url}/1/q", timeout=0.05, endpoint_url=url)
        with pytest.raises(Unavailable, match="can't be reached: ReadTimeoutError"):
            queue.send(changes(1))


def test_messages_are_plain_json(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StubClient()
    queue_on(client, monkeypatch).send(changes(1))
    assert json.loads(client.batches[0][0]["MessageBody"])["schema"] == 1
