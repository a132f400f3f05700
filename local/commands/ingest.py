"""`winnow ingest`: files and folders into a dataset."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from functions.ingest.formats.options import Options
from functions.ingest.parse import parse
from functions.ingest.reader import FileReader
from local.bars import watching
from local.client import Client
from local.datasets import Embedding, check_embedding, ensure_dataset
from local.files import Selection, SourceFile, find_files, measure, read_file
from local.languages import choose_model
from local.sending import Ending, Outcome
from local.sending_files import send_files
from local.session import open_session
from local.terminal import clean, tell, write_json
from shared.errors import DocumentRefused

SAMPLE = 30
"""Files that are read for their language, before a dataset is made for all."""

SAMPLE_BYTES = 50_000_000
"""Of a file that is; a larger one would hardly be taken."""


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
    with open_session(folder) as client:
        dataset = _find_dataset(client, dataset_name, embedding, selection.files)
        with watching() as watcher:
            task = f"Ingesting into {dataset_name}"
            outcomes = send_files(client, dataset["id"], selection.files, task, watcher)
    result = describe(dataset, outcomes, selection)
    if as_json:
        write_json(result)
    for each in selection.lone_sidecars:
        tell(f"{clean(each)} waits: the file that it belongs to is not there.")
    tell(summarize(result))
    return not result["failures"]


def _find_dataset(
    client: Client, name: str, embedding: Embedding | None, files: Sequence[SourceFile]
) -> Mapping[str, Any]:
    found = client.find_dataset(name)
    if found is None:
        chosen = embedding or Embedding("local", choose_model(_sample(files)))
        return ensure_dataset(client, name, chosen)
    if embedding:
        check_embedding(found, embedding)
    return found


def _sample(files: Sequence[SourceFile]) -> Iterator[str]:
    with closing(FileReader(Options(), seconds=10)) as reader:
        for file in islice((each for each in files if measure(each) <= SAMPLE_BYTES), SAMPLE):
            try:
                read = read_file(file)
                yield parse(partial(bytes, read.data), read.media_type, reader).text
            except DocumentRefused:
                continue  # it is told when it is sent


def describe(
    dataset: Mapping[str, Any], outcomes: Sequence[Outcome], selection: Selection
) -> dict[str, Any]:
    """Returns the result for programs."""
    counts = Counter(outcome.ending for outcome in outcomes)
    return {
        "dataset": {"id": dataset["id"], "name": dataset["name"]},
        **{str(ending): counts[ending] for ending in Ending},
        "left_out": selection.left_out.total(),
        "lone_sidecars": selection.lone_sidecars,
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
