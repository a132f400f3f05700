"""`winnow redrive`: what was given up is tried again."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.bars import watching
from local.client import ApiRefused, Client
from local.datasets import find_dataset
from local.session import open_session
from local.terminal import clean, tell
from shared.queue.dead_letters import DeadLetters

PAUSE_SECONDS = 0.2
_OVER = ("completed", "error")


def redrive_queue(url: str) -> None:
    """Puts the messages of a dead-letter queue back; ingest tries their documents again."""
    with watching() as watcher:
        task = "Moving messages"
        watcher.begin(task)
        moved = DeadLetters(url).redrive()
        watcher.finish(task)
    tell(f"{moved} messages went back into the queue; their documents' status says what becomes.")


def redrive_documents(folder: Path | None, dataset_name: str | None) -> bool:
    """Retries every document in error, and returns whether all are searchable.

    Args:
        folder: the home.
        dataset_name: only those of this dataset; None = of all.
    """
    with open_session(folder) as client:
        datasets = (
            [find_dataset(client, dataset_name)]
            if dataset_name is not None
            else client.get("/v1/datasets")["datasets"]
        )
        failed = [each for dataset in datasets for each in _list_failed(client, dataset)]
        with watching() as watcher:
            task = "Trying again"
            watcher.begin(task, len(failed), "documents")
            reasons = {}
            for document, reason in _retry(client, failed):
                watcher.advance(task, 1)
                if reason is not None:
                    reasons[document["id"]] = f"{document['name']}: {reason}"
            watcher.finish(task)
    for reason in reasons.values():
        tell(clean(reason))
    tell(f"{len(failed)} documents were tried again, {len(reasons)} failed.")
    return not reasons


def _list_failed(client: Client, dataset: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if dataset["provider"] != "external":
        yield from client.list_documents(dataset["id"], status="error")


def _retry(
    client: Client, documents: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Yields each document once it is through, with the reason where it failed again."""
    waiting = []
    for document in documents:
        try:
            client.post(f"/v1/documents/{document['id']}/retry", {})
        except ApiRefused as refusal:
            yield document, str(refusal)
        else:
            waiting.append(document)
    for document in waiting:
        yield document, _await(client, document)


def _await(client: Client, document: Mapping[str, Any]) -> str | None:
    while True:
        try:
            now = client.get(f"/v1/documents/{document['id']}")
        except ApiRefused as refusal:  # it is gone
            return str(refusal)
        if now["indexing_status"] in _OVER:
            reason: str | None = now["error"]
            return reason
        time.sleep(PAUSE_SECONDS)
