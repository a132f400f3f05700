"""Documents to the API, and how each one ended."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from local.bars import Watcher
from local.client import ApiRefused, Client

BATCH = 50
BATCH_BYTES = 1_000_000
LOOKED_AT = 8
"""Documents asked after in one round; they are done in the order in which they were sent."""

PAUSE_SECONDS = 0.1

type Answered = tuple[str, Mapping[str, Any]]
"""A document's external id, and what the API says of it: the document, or a problem."""


class Ending(StrEnum):
    """How a document ended."""

    NEW = "new"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document.

    Attributes:
        document_id: None where the API took none.
        reason: why it failed.
    """

    external_id: str
    ending: Ending
    document_id: str | None = None
    reason: str = ""


def send(
    client: Client,
    dataset_id: str,
    bodies: Sequence[Mapping[str, Any]],
    task: str,
    watcher: Watcher,
) -> list[Outcome]:
    """Sends documents and waits until queries find each of them, or it failed.

    Args:
        client: of the API.
        dataset_id: where they go.
        bodies: documents as the API takes them, each with its external id.
        task: what the watcher calls it.
        watcher: sees each document that is done.

    Returns:
        One outcome a document, in no order.
    """
    versions = {d["external_id"]: d["version"] for d in client.list_documents(dataset_id)}
    batches = (_post(client, dataset_id, batch) for batch in split(bodies))
    watcher.begin(task, len(bodies), "documents")
    outcomes: list[Outcome] = []

    def see(outcome: Outcome) -> None:
        outcomes.append(outcome)
        watcher.advance(task, 1)

    follow(client, batches, versions, see)
    watcher.finish(task)
    return outcomes


def follow(
    client: Client,
    batches: Iterable[Iterable[Answered]],
    versions: Mapping[str, int],
    see: Callable[[Outcome], None],
) -> None:
    """Waits for documents while others are being sent.

    Args:
        client: of the API.
        batches: what it answers; taking the next one sends more.
        versions: of the documents that there were before, by external id.
        see: gets each outcome as it comes.
    """
    waiting: deque[Mapping[str, Any]] = deque()
    for batch in batches:
        for external_id, answer in batch:
            outcome = _judge(external_id, answer, versions)
            if outcome is None:
                waiting.append(answer)
            else:
                see(outcome)
        _ask_after(client, waiting, versions, see)
    while waiting:
        if not _ask_after(client, waiting, versions, see):
            time.sleep(PAUSE_SECONDS)


def split(bodies: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yields the documents in batches of bounded number and size."""
    batch: list[Mapping[str, Any]] = []
    size = 0
    for body in bodies:
        bytes_ = len(json.dumps(body, ensure_ascii=False).encode())
        if batch and (len(batch) == BATCH or size + bytes_ > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += bytes_
    if batch:
        yield batch


def _post(
    client: Client, dataset_id: str, batch: Sequence[Mapping[str, Any]]
) -> Iterator[Answered]:
    path = f"/v1/datasets/{dataset_id}/documents/batch"
    try:
        answers = client.post(path, {"documents": batch})["documents"]
    except ApiRefused as error:
        answers = [{"detail": str(error)}] * len(batch)
    for body, answer in zip(batch, answers, strict=True):
        yield body["external_id"], answer


def _ask_after(
    client: Client,
    waiting: deque[Mapping[str, Any]],
    versions: Mapping[str, int],
    see: Callable[[Outcome], None],
) -> bool:
    """Takes those that are done out of the first few that wait; tells whether any was."""
    unfinished = []
    asked = min(LOOKED_AT, len(waiting))
    for _ in range(asked):
        sent = waiting.popleft()
        outcome = _look_at(client, sent, versions)
        if outcome is None:
            unfinished.append(sent)
        else:
            see(outcome)
    waiting.extendleft(reversed(unfinished))
    return len(unfinished) < asked


def _look_at(
    client: Client, sent: Mapping[str, Any], versions: Mapping[str, int]
) -> Outcome | None:
    """Returns how a document ended; None while it has not, or nobody can tell."""
    try:
        now = client.get(f"/v1/documents/{sent['id']}")
    except ApiRefused as refusal:
        if refusal.status == HTTPStatus.NOT_FOUND:  # somebody deleted it meanwhile
            return Outcome(sent["external_id"], Ending.FAILED, sent["id"], str(refusal))
        if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
            return None
        raise
    return _judge(now["external_id"], now, versions)


def _judge(
    external_id: str, answer: Mapping[str, Any], versions: Mapping[str, int]
) -> Outcome | None:
    """Returns how a document ended; None while it has not."""
    if "id" not in answer:
        return Outcome(external_id, Ending.FAILED, None, answer["detail"])
    if answer["indexing_status"] == "error":
        return Outcome(external_id, Ending.FAILED, answer["id"], answer["error"] or "")
    if answer["indexing_status"] != "completed" or answer["live_version"] != answer["version"]:
        return None
    before = versions.get(external_id)
    if before is None:
        return Outcome(external_id, Ending.NEW, answer["id"])
    unchanged = before == answer["version"]
    return Outcome(external_id, Ending.UNCHANGED if unchanged else Ending.UPDATED, answer["id"])
