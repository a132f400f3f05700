"""Real events of a bucket, by both ways in which they come to the queue."""

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from boto3.session import Session
from sqlalchemy import Engine

from functions.ingest import handler
from shared.content.objects import S3ObjectReader
from shared.model import Document, IndexingStatus
from tests.integration.functions.ingest.world import World

NAMES = ["plain.md", "退款 政策(1).md", "a+b %2F&=c.txt", "guides/deep/x y.txt"]


class Bucket:
    """A bucket whose events go into a queue."""

    def __init__(self, url: str, world: World, *, by_eventbridge: bool) -> None:
        self.world = world
        self._delivered = 0
        session = Session()
        self._s3, self._sqs = (session.client(name, endpoint_url=url) for name in ("s3", "sqs"))
        self.name = f"b-{world.dataset.id}"
        self._s3.create_bucket(Bucket=self.name)
        self._queue = self._sqs.create_queue(QueueName=world.dataset.id)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(
            QueueUrl=self._queue, AttributeNames=["QueueArn"]
        )
        arn = attributes["Attributes"]["QueueArn"]
        told: dict[str, Any] = {
            "QueueConfigurations": [
                {"QueueArn": arn, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}
            ]
        }
        if by_eventbridge:
            events = session.client("events", endpoint_url=url)
            pattern = {
                "source": ["aws.s3"],
                "detail-type": ["Object Created", "Object Deleted"],
                "detail": {"bucket": {"name": [self.name]}},
            }
            events.put_rule(Name=self.name[:64], EventPattern=json.dumps(pattern))
            events.put_targets(Rule=self.name[:64], Targets=[{"Id": "queue", "Arn": arn}])
            told = {"EventBridgeConfiguration": {}}
        self._s3.put_bucket_notification_configuration(
            Bucket=self.name, NotificationConfiguration=told
        )

    def key(self, name: str) -> str:
        return f"datasets/{self.world.dataset.id}/{name}"

    def put(self, name: str, data: bytes, storage: str = "STANDARD") -> None:
        self._s3.put_object(Bucket=self.name, Key=self.key(name), Body=data, StorageClass=storage)

    def remove(self, name: str) -> None:
        self._s3.delete_object(Bucket=self.name, Key=self.key(name))

    def deliver(self) -> list[str]:
        """Hands over what is in the queue, and returns the bodies that failed."""
        failed = []
        while received := self._receive():
            bodies = {each["MessageId"]: each["Body"] for each in received}
            records = [
                {"messageId": id_, "body": self._number(body)} for id_, body in bodies.items()
            ]
            answer = handler.lambda_handler({"Records": records}, LambdaContext())
            failed += [bodies[each["itemIdentifier"]] for each in answer["batchItemFailures"]]
            for each in received:
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=each["ReceiptHandle"])
        return failed

    def find(self, name: str) -> Document:
        return self.world.find(f"s3://{self.name}/{self.key(name)}")

    def texts(self, name: str) -> list[str]:
        return self.world.live_texts(f"s3://{self.name}/{self.key(name)}")

    def _number(self, body: str) -> str:
        """Gives an event of EventBridge the next sequencer: the double gives all the same."""
        message = json.loads(body)
        if "detail" in message:
            self._delivered += 1
            message["detail"]["object"]["sequencer"] = f"{self._delivered:016X}"
        return json.dumps(message)

    def _receive(self) -> list[Any]:
        answer = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10)
        return list(answer.get("Messages", ()))


@pytest.fixture(params=[False, True], ids=["notification", "eventbridge"])
def bucket(
    aws: str, database: Engine, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Bucket:
    world = World(database)
    parts = replace(world.parts, objects=S3ObjectReader(endpoint_url=aws))
    monkeypatch.setattr(handler, "build_parts", lambda: parts)
    return Bucket(aws, world, by_eventbridge=request.param)


def test_what_is_put_and_removed_is_found_and_gone_whatever_its_name(bucket: Bucket) -> None:
    for name in NAMES:
        bucket.put(name, f"text of {name}".encode())
    assert bucket.deliver() == []  # S3's own test event is among them
    for name in NAMES:
        assert bucket.find(name).name == name.rpartition("/")[2]
        assert bucket.texts(name) == [f"text of {name}"]
    bucket.put(NAMES[0], b"another text")
    for name in NAMES[1:]:
        bucket.remove(name)
    assert bucket.deliver() == []
    assert bucket.texts(NAMES[0]) == ["another text"]
    assert all(bucket.find(name).deleted_at for name in NAMES[1:])
    assert all(bucket.texts(name) == [] for name in NAMES[1:])


def test_a_sidecar_comes_and_goes_beside_its_file(bucket: Bucket) -> None:
    name = "退款 a+b.md"
    bucket.put(f"{name}.metadata.json", b'{"metadataAttributes": {"lang": "zh"}}')
    bucket.put(name, b"words")
    assert bucket.deliver() == []
    assert bucket.find(name).metadata == {"lang": "zh"}
    bucket.remove(f"{name}.metadata.json")
    assert bucket.deliver() == []
    assert bucket.find(name).metadata == {}
    assert bucket.texts(name) == ["words"]


def test_a_file_that_cannot_be_used_fails_alone_with_its_reason(bucket: Bucket) -> None:
    bucket.put("a.exe", b"MZ")
    bucket.put("b.md", b"words")
    [failed] = bucket.deliver()
    assert "a.exe" in failed
    assert bucket.find("a.exe").indexing_status is IndexingStatus.ERROR
    assert bucket.find("a.exe").error_code == "unsupported"
    assert bucket.texts("b.md") == ["words"]


@pytest.mark.parametrize("archived", ["a.md", "a.md.metadata.json"])
def test_an_archived_object_has_a_reason_and_goes_in_once_it_can_be_read(
    bucket: Bucket, archived: str
) -> None:
    files = {"a.md": b"words", "a.md.metadata.json": b'{"metadataAttributes": {"lang": "en"}}'}
    for name, data in files.items():
        bucket.put(name, data, "GLACIER" if name == archived else "STANDARD")
    failed = bucket.deliver()
    assert failed
    document = bucket.find("a.md")
    assert (document.indexing_status, document.error_code) == (IndexingStatus.ERROR, "unsupported")
    assert "is archived" in (document.error or "")
    bucket.put(archived, files[archived])
    assert bucket.deliver() == []
    assert bucket.texts("a.md") == ["words"]
    assert bucket.find("a.md").metadata == {"lang": "en"}
