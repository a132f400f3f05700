"""Files to the API, one by one, and only those that are not there as they are."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local.bars import Watcher
from local.client import ApiRefused, Client
from local.files import LocalFile, SourceFile, measure, read_file
from local.sending import Answered, Ending, Outcome, follow
from local.terminal import clean
from shared.errors import DocumentRefused
from shared.postgres.intake import name_document

MOST_IN_FORM = 5_000_000
"""Bytes of a file that goes as a form; a larger one goes by an upload, which AWS takes."""


def send_files(
    client: Client, dataset_id: str, files: Sequence[SourceFile], task: str, watcher: Watcher
) -> list[Outcome]:
    """Sends files and waits until queries find each of them, or it failed.

    What is there already is not sent again, so that a run that was stopped goes on where it was.

    Args:
        client: of the API.
        dataset_id: where they go.
        files: read one by one, when it is their turn.
        task: what the watcher calls it.
        watcher: sees each document that is done, and is told of each that failed.

    Returns:
        One outcome a file, in no order.
    """
    versions: dict[str, int] = {}
    outcomes: list[Outcome] = []

    def see(outcome: Outcome) -> None:
        outcomes.append(outcome)
        watcher.advance(task, 1)
        if outcome.ending is Ending.FAILED:
            watcher.say(f"{clean(outcome.external_id)}: {clean(outcome.reason)}")

    watcher.begin(task, len(files), "documents")
    follow(client, _send_each(client, dataset_id, files, versions), versions, see)
    watcher.finish(task)
    return outcomes


def _send_each(
    client: Client, dataset_id: str, files: Sequence[SourceFile], versions: dict[str, int]
) -> Iterator[list[Answered]]:
    for file in files:
        try:
            offer = _ask_for_upload(client, dataset_id, file)
            read = read_file(file)
            yield [(file.external_id, _bring(client, dataset_id, read, offer, versions))]
        except (ApiRefused, DocumentRefused) as error:
            yield [(file.external_id, {"detail": str(error)})]


def _ask_for_upload(client: Client, dataset_id: str, file: SourceFile) -> Mapping[str, Any] | None:
    """Returns where a large file goes; one that is too large is refused before it is read."""
    size = measure(file)
    if size <= MOST_IN_FORM:
        return None
    return dict(client.post(f"/v1/datasets/{dataset_id}/documents/uploads", {"size": size}))


def _bring(
    client: Client,
    dataset_id: str,
    file: LocalFile,
    offer: Mapping[str, Any] | None,
    versions: dict[str, int],
) -> Mapping[str, Any]:
    """Returns the document of a file, sent if it has to be."""
    known = client.find_document(name_document(dataset_id, file.external_id))
    if known is not None:
        versions[file.external_id] = known["version"]
        if known["indexing_status"] == "completed" and file.is_same(known):
            return known
    path = f"/v1/datasets/{dataset_id}/documents"
    fields = {"name": file.name, "external_id": file.external_id}
    if offer is None:
        metadata = json.dumps(file.metadata, ensure_ascii=False)
        form = fields | {"metadata": metadata}
        return dict(client.post_form(path, form, file.name, file.data, file.media_type))
    client.put(offer["url"], file.data)
    body = fields | {"metadata": file.metadata, "upload_id": offer["upload_id"]}
    return dict(client.post(path, body))
