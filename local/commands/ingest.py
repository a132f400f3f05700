"""`winnow ingest`: files and folders into a dataset."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local.bars import watching
from local.datasets import Embedding, check_embedding, ensure_dataset
from local.files import Selection, find_files, read_document
from local.languages import choose_model
from local.sending import Ending, Outcome, send
from local.session import open_session
from local.terminal import clean, tell
from shared.errors import DocumentRefused


def ingest(
    folder: Path | None,
    paths: Sequence[Path],
    dataset_name: str,
    embedding: Embedding | None,
    *,
    as_json: bool,
) -> bool:
    """Ingests files, tells what became of them, and returns whether all are searchable.

    Args:
        folder: the home.
        paths: files and folders.
        dataset_name: made if it is new.
        embedding: of a new dataset; None = a local model, chosen by the texts' language.
        as_json: the result goes to standard output, as JSON.
    """
    selection = find_files(paths)
    bodies, refused = read_documents(selection)
    with open_session(folder) as client:
        chosen = embedding or Embedding("local", choose_model(body["text"] for body in bodies))
        dataset = ensure_dataset(client, dataset_name, chosen)
        if embedding:
            check_embedding(dataset, embedding)
        with watching() as watcher:
            sent = send(client, dataset["id"], bodies, f"Ingesting into {dataset_name}", watcher)
    outcomes = [*refused, *sent]
    failed = [each for each in outcomes if each.ending is Ending.FAILED]
    for each in failed:
        tell(f"{clean(each.external_id)}: {clean(each.reason)}")
    result = describe(dataset, outcomes, selection)
    if as_json:
        json.dump(result, sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")
    tell(summarize(result))
    return not failed


def read_documents(selection: Selection) -> tuple[list[dict[str, Any]], list[Outcome]]:
    """Returns the files as documents, and those that can't be read."""
    bodies: list[dict[str, Any]] = []
    refused: list[Outcome] = []
    for file in selection.files:
        try:
            bodies.append(read_document(file))
        except DocumentRefused as error:
            refused.append(Outcome(file.external_id, Ending.FAILED, None, str(error)))
    return bodies, refused


def describe(dataset: Any, outcomes: Sequence[Outcome], selection: Selection) -> dict[str, Any]:
    """Returns the result for programs."""
    counts = Counter(outcome.ending for outcome in outcomes)
    return {
        "dataset": {"id": dataset["id"], "name": dataset["name"]},
        **{str(ending): counts[ending] for ending in Ending},
        "left_out": selection.left_out.total(),
        "failures": [
            {"external_id": each.external_id, "reason": each.reason}
            for each in outcomes
            if each.ending is Ending.FAILED
        ],
    }


def summarize(result: dict[str, Any]) -> str:
    """Returns the result for people."""
    counts = ", ".join(f"{result[ending]} {ending}" for ending in Ending)
    left_out = result["left_out"]
    others = f" {left_out} files of other kinds were left out." if left_out else ""
    return f"Dataset {result['dataset']['name']}: {counts}.{others}"
