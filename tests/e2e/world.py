"""What the events in events/ take for granted: two datasets, a bucket, a queue, a key."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import boto3
from sqlalchemy import Engine, insert, select

from shared.model import NO_VECTORS, EmbeddingSpace
from shared.postgres.engine import read, transaction
from shared.postgres.tables import datasets, documents
from shared.settings import DEFAULT_TENANT
from tests.artifacts import ROOT, read_template
from tests.e2e.lambdas import Lambdas
from tests.servers.aws import AWS_ENVIRONMENT

EVENTS = ROOT / "events"
KEY = "an-example-key-for-these-events-alone"
BUCKET = "winnow-events"
QUEUE = "winnow-events"
GIVEN = "11111111-1111-4111-8111-111111111111"
ECONOMY = "22222222-2222-4222-8222-222222222222"
OBJECTS = {
    "手册/退款 政策.md": "# 退款政策\n\n退款在十四天内支付。",
    "release notes + plans.txt": "Release notes, and what is planned.",
    "security.md": "# Security\n\nKeys are stored as hashes.",
}
SEEDS = ("migrate/deploy", "manage/batch", "manage/batch-of-texts")
"""Events that the others build on."""


def list_scenarios() -> list[str]:
    """Returns the events by function and name, such as `retrieve/text`."""
    return sorted(
        str(path.relative_to(EVENTS).with_suffix(""))
        for path in EVENTS.glob("*/*.json")
        if path.parent.name != "expected"
    )


def read_event(scenario: str) -> Any:
    """Returns an event."""
    return json.loads((EVENTS / f"{scenario}.json").read_text(encoding="utf-8"))


class World:
    """The functions with all they need around them."""

    def __init__(self, lambdas: Lambdas, engine: Engine, aws_url: str) -> None:
        self._lambdas = lambdas
        self._engine = engine
        self._aws = Aws(aws_url)

    def prepare(self) -> None:
        """Makes what the events take for granted."""
        for scenario in SEEDS:
            if scenario == "manage/batch":
                self._make_datasets()
            self.run(scenario)
        self._aws.put_objects()
        # Its message is not delivered here: an event of ingest brings it.
        self.run("manage/add-document-without-waiting")
        self._aws.purge()

    def run(self, scenario: str) -> Any:
        """Sends an event to its function; while one that waits is at work, the queue is read."""
        name = scenario.partition("/")[0]
        event = read_event(scenario)
        if "wait=true" not in event.get("rawQueryString", ""):
            return self._lambdas.invoke(name, event)
        with self._aws.delivering(self._lambdas):
            return self._lambdas.invoke(name, event)

    def find_state(self, document_id: str) -> str:
        """Returns a document's indexing status, or `deleted`."""
        with read(self._engine) as connection:
            row = connection.execute(select(documents).where(documents.c.id == document_id)).one()
        return "deleted" if row.deleted_at else str(row.indexing_status)

    def _make_datasets(self) -> None:
        with transaction(self._engine) as connection:
            _make_dataset(connection, GIVEN, "given", EmbeddingSpace("given", "events", 3))
            _make_dataset(connection, ECONOMY, "economy", NO_VECTORS)


def _make_dataset(connection: Any, id_: str, name: str, space: EmbeddingSpace) -> None:
    connection.execute(
        insert(datasets).values(
            id=id_,
            tenant_id=DEFAULT_TENANT,
            name=name,
            indexing_technique="high_quality" if space.has_vectors else "economy",
            embedding_provider=space.provider,
            embedding_model=space.model,
            embedding_dimension=space.dimension,
        )
    )


class Aws:
    """The bucket, the queue and the secret, at a double of AWS."""

    def __init__(self, url: str) -> None:
        access = {
            "aws_access_key_id": AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
            "region_name": AWS_ENVIRONMENT["AWS_REGION"],
        }
        session = boto3.Session(**access)
        self._s3 = session.client("s3", endpoint_url=url)
        self._sqs = session.client("sqs", endpoint_url=url)
        self._s3.create_bucket(Bucket=BUCKET)
        self._queue_url = self._sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        session.client("secretsmanager", endpoint_url=url).create_secret(
            Name="winnow-events", SecretString=KEY
        )

    def put_objects(self) -> None:
        """Puts what users would have put."""
        for name, text in OBJECTS.items():
            self._s3.put_object(Bucket=BUCKET, Key=f"datasets/{ECONOMY}/{name}", Body=text.encode())

    def purge(self) -> None:
        """Forgets the messages that wait."""
        self._sqs.purge_queue(QueueUrl=self._queue_url)

    @contextmanager
    def delivering(self, lambdas: Lambdas) -> Iterator[None]:
        """Brings messages to ingest meanwhile, as Lambda's event source mapping does."""
        stopping = Event()
        failures: list[BaseException] = []

        def deliver() -> None:
            try:
                while not stopping.is_set():
                    self._deliver(lambdas)
            except BaseException as error:  # noqa: BLE001  told to the test below
                failures.append(error)

        thread = Thread(target=deliver)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()
        if failures:
            raise failures[0]

    def _deliver(self, lambdas: Lambdas) -> None:
        answer = self._sqs.receive_message(
            QueueUrl=self._queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=1
        )
        messages = answer.get("Messages", [])
        if not messages:
            return
        done = lambdas.invoke("ingest", {"Records": [_as_record(each) for each in messages]})
        failed = {each["itemIdentifier"] for each in done["batchItemFailures"]}
        for message in messages:
            if message["MessageId"] not in failed:
                self._sqs.delete_message(
                    QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"]
                )


def _as_record(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{QUEUE}",
        "awsRegion": "us-east-1",
    }


def make_environment(
    *, database_url: str, opensearch_url: str, aws_url: str, index_prefix: str
) -> dict[str, str]:
    """Returns the functions' environment: the template's own, on these servers."""
    variables = read_template()["Globals"]["Function"]["Environment"]["Variables"]
    return (
        {name: value for name, value in variables.items() if isinstance(value, str)}
        | AWS_ENVIRONMENT
        | {
            "AWS_ENDPOINT_URL": aws_url,
            "WINNOW_DATABASE_URL": database_url,
            "WINNOW_DATABASE_IAM": "false",
            "WINNOW_OPENSEARCH_URL": opensearch_url,
            "WINNOW_OPENSEARCH_AUTH": "none",
            "WINNOW_INDEX_PREFIX": index_prefix,
            "WINNOW_INDEX_REPLICAS": "0",
            "WINNOW_BOOTSTRAP_KEY_SECRET": "winnow-events",
            "WINNOW_CONTENT_URL": f"s3://{BUCKET}/content",
            "WINNOW_QUEUE_URL": f"{aws_url}/123456789012/{QUEUE}",
        }
    )


def read_expected(scenario: str) -> dict[str, Any]:
    """Returns what should come of an event."""
    file: Path = EVENTS / "expected" / f"{scenario}.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))
