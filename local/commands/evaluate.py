"""`winnow eval`: how well, and how fast, each way to search answers judged collections."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from local.bars import Watcher, watching
from local.client import Client
from local.datasets import Embedding
from local.evaluation.asking import ask, ingest
from local.evaluation.collection import Collection, read_collection
from local.evaluation.measures import measure_each
from local.evaluation.methods import METHODS
from local.evaluation.report import Measured, describe, show
from local.evaluation.vectors import KeptVectors, Role
from local.home import Home
from local.languages import choose_model
from local.models import open_embedder
from local.session import open_session
from local.terminal import write_json


def evaluate(
    home: Path | None,
    folders: Sequence[Path],
    methods: Sequence[str] | None,
    *,
    limit: int,
    embedding: Embedding | None,
    json_to: str | None,
) -> bool:
    """Measures methods on collections, shows them, and returns whether every document took part.

    Args:
        home: keeps vectors and datasets for the next time.
        folders: one a collection.
        methods: names out of `METHODS`; None for all that suit a collection's language.
        limit: only the first so many queries.
        embedding: None = a local model, chosen by the documents' language.
        json_to: a file for the figures, - for standard output: an object, or of several
            collections a list of them.
    """
    for folder in folders:  # before anything is started: what can't be read is told at once
        read_collection(folder, limit)
    reports: list[dict[str, Any]] = []
    with ExitStack() as cleanup:
        file = None
        if json_to is not None and json_to != "-":
            Path(json_to).touch()  # what can't be written is told at once, too
            file = cleanup.enter_context(Path(json_to).open("r+", encoding="utf-8"))
        client = cleanup.enter_context(open_session(home))
        kept = Home.open(home).folder / "evaluation"
        for folder in folders:
            collection = read_collection(folder, limit)
            reports.append(_evaluate(client, collection, methods, embedding, kept))
            if file is not None:
                _write(file, reports)
            if json_to != "-":
                show(reports[-1])
    if json_to == "-":
        write_json(_unwrap(reports))
    return not any(report["failures"] for report in reports)


def _evaluate(
    client: Client,
    collection: Collection,
    methods: Sequence[str] | None,
    embedding: Embedding | None,
    kept: Path,
) -> dict[str, Any]:
    model = embedding or Embedding("local", choose_model(collection.documents.values()))
    with watching() as watcher, KeptVectors(kept, open_embedder(model)) as vectors:
        _embed(collection, vectors, watcher)
        ingested = ingest(client, collection, model, vectors, watcher)
        measured = []
        for name in methods or _choose_methods(model):
            task = f"Asking {collection.name} by {name}"
            answers = ask(
                client, ingested, METHODS[name], collection.queries, vectors, watcher, task
            )
            grades = dict(islice(collection.grades.items(), METHODS[name].most_queries))
            measured.append(Measured(name, measure_each(grades, answers.run), answers))
    return describe(collection, model, measured, ingested.failed)


def _choose_methods(model: Embedding) -> list[str]:
    return [name for name, method in METHODS.items() if method.only_for in (None, model.model)]


def _embed(collection: Collection, vectors: KeptVectors, watcher: Watcher) -> None:
    task = f"Embedding {collection.name}"
    asked = [query for query in collection.queries.values() if query.strip()]
    watcher.begin(task, len(collection.documents) + len(asked), "texts")
    for role, texts in ((Role.PASSAGE, collection.documents.values()), (Role.QUERY, asked)):
        vectors.fill(role, texts, lambda done: watcher.advance(task, done))
    watcher.finish(task)


def _write(file: TextIO, reports: Sequence[Mapping[str, Any]]) -> None:
    # After each collection: a run that is broken off leaves what is done.
    file.seek(0)
    file.truncate()
    json.dump(_unwrap(reports), file, ensure_ascii=False, indent=1)
    file.write("\n")
    file.flush()


def _unwrap(reports: Sequence[Mapping[str, Any]]) -> Any:
    return reports[0] if len(reports) == 1 else reports
