"""`winnow eval`: how well, and how fast, each way to search answers a judged collection."""

import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from local.bars import Watcher, watching
from local.client import Client
from local.datasets import Embedding, check_embedding, ensure_dataset
from local.evaluation.collection import Collection, read_collection
from local.evaluation.measures import CUT, NAMES, measure
from local.languages import choose_model
from local.sending import Ending, send
from local.session import open_session
from local.tables import make_table
from local.terminal import open_console, tell

METHODS: Mapping[str, Mapping[str, Any]] = {
    "text": {"search_method": "full_text_search"},
    "vector": {"search_method": "semantic_search"},
    "weighted-0.7-0.3": {"fusion": {"weights": {"vector": 0.7, "keyword": 0.3}}},
    "weighted-0.5-0.5": {"fusion": {"weights": {"vector": 0.5, "keyword": 0.5}}},
    "rrf": {"fusion": {"method": "rrf"}},
}
"""What each method's requests say; the weights are of vector and keywords."""

PATIENCE_MS = 60_000
"""A measured answer is a whole one: no channel is given up because this machine is busy."""

LATENCY = (
    "Milliseconds from request to answer over HTTP, one caller, one query after the other, "
    "the query's embedding included."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one method achieved.

    Attributes:
        means: measure → its mean over the judged queries.
        answered: how many queries got any answer.
        p50: milliseconds, of the whole request.
        p95: likewise.
    """

    method: str
    means: Mapping[str, float]
    answered: int
    p50: float
    p95: float


def evaluate(
    home: Path | None,
    folder: Path,
    methods: Sequence[str],
    *,
    limit: int | None,
    embedding: Embedding | None,
    json_to: str | None,
) -> bool:
    """Measures methods on a collection, shows them, and returns whether every document took part.

    Args:
        home: keeps the collection's dataset, for the next time.
        folder: of the collection.
        methods: names out of `METHODS`.
        limit: only the first so many queries.
        embedding: None = a local model, chosen by the documents' language.
        json_to: a file for the figures, - for standard output.
    """
    collection = read_collection(folder, limit)
    chosen = embedding or Embedding("local", choose_model(collection.documents.values()))
    with open_session(home) as client, watching() as watcher:
        dataset = _find_dataset(client, collection, chosen)
        ids, failed = _ingest(client, dataset["id"], collection, watcher)
        measured = [
            _measure(client, dataset["id"], name, collection, ids, watcher) for name in methods
        ]
    report = _describe(collection, chosen, measured, failed)
    if json_to is not None and json_to != "-":
        Path(json_to).write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")
    if json_to == "-":
        json.dump(report, sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        _show(report)
    return not failed


def _find_dataset(client: Client, collection: Collection, embedding: Embedding) -> Any:
    # Named for what it holds: a collection that changed gets a dataset without yesterday's rest.
    name = f"eval-{collection.name[:100]}-{embedding.model[:100]}-{collection.digest[:8]}"
    dataset = ensure_dataset(client, name, embedding)
    check_embedding(dataset, embedding)
    return dataset


def _ingest(
    client: Client, dataset_id: str, collection: Collection, watcher: Watcher
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the collection's id of each document id of ours, and why those failed that did."""
    bodies = [
        {"name": id_, "external_id": id_, "chunks": [{"text": text}]}
        for id_, text in collection.documents.items()
    ]
    outcomes = send(client, dataset_id, bodies, f"Ingesting {collection.name}", watcher)
    ids = {each.document_id: each.external_id for each in outcomes if each.document_id}
    return ids, {e.external_id: e.reason for e in outcomes if e.ending is Ending.FAILED}


def _measure(
    client: Client,
    dataset_id: str,
    method: str,
    collection: Collection,
    ids: Mapping[str, str],
    watcher: Watcher,
) -> Measured:
    request = {
        "dataset_ids": [dataset_id],
        "top_k": CUT,
        "deadline_ms": PATIENCE_MS,
        "on_channel_failure": "error",
        **METHODS[method],
    }
    task = f"Asking by {method}"
    watcher.begin(task, len(collection.queries), "queries")
    run: dict[str, list[str]] = {}
    times: list[float] = []
    client.post("/v1/retrieve", request | {"query": "warm up"})  # loads models and dictionaries
    for id_, text in collection.queries.items():
        if text.strip():
            began = time.perf_counter()
            answer = client.post("/v1/retrieve", request | {"query": text})
            times.append((time.perf_counter() - began) * 1000)
            run[id_] = [ids[record["document_id"]] for record in answer["records"]]
        watcher.advance(task, 1)
    watcher.finish(task)
    cuts = statistics.quantiles(times or [0.0], n=20, method="inclusive") if len(times) > 1 else []
    return Measured(
        method,
        measure(collection.grades, run),
        answered=sum(bool(found) for found in run.values()),
        p50=statistics.median(times or [0.0]),
        p95=cuts[-1] if cuts else sum(times),
    )


def _describe(
    collection: Collection,
    embedding: Embedding,
    measured: Sequence[Measured],
    failed: Mapping[str, str],
) -> dict[str, Any]:
    return {
        "collection": collection.name,
        "embedding": str(embedding),
        "documents": len(collection.documents),
        "empty_documents": len(collection.empty),
        "queries": len(collection.queries),
        "unknown_judged_documents": collection.unknown_documents,
        "unknown_judged_queries": collection.unknown_queries,
        "failures": [{"id": id_, "reason": reason} for id_, reason in failed.items()],
        "methods": [
            {
                "method": each.method,
                **{name: round(value, 6) for name, value in each.means.items()},
                "answered": each.answered,
                "p50_ms": round(each.p50, 2),
                "p95_ms": round(each.p95, 2),
            }
            for each in measured
        ],
        "latency": LATENCY,
    }


def _show(report: Mapping[str, Any]) -> None:
    console = open_console(sys.stdout)
    counts = [
        f"{report['documents']:,} documents",
        f"{report['queries']:,} judged queries",
        report["embedding"],
    ]
    console.print(f"{report['collection']}: {', '.join(counts)}")
    remarks = {
        "empty documents were left out": report["empty_documents"],
        "judged documents are missing": report["unknown_judged_documents"],
        "judged queries are missing": report["unknown_judged_queries"],
        "documents could not be ingested": len(report["failures"]),
    }
    for words, count in remarks.items():
        if count:
            console.print(f"{count:,} {words}.")
    for each in report["failures"]:
        tell(f"{each['id']}: {each['reason']}")
    console.print()
    console.print(_make_table(report["methods"]))
    console.print()
    console.print(LATENCY)


def _make_table(methods: Sequence[Mapping[str, Any]]) -> Table:
    times = {"p50 ms": "p50_ms", "p95 ms": "p95_ms"}
    table = make_table("method", *NAMES, *times, figures=[*NAMES, *times])
    for each in methods:
        figures = [f"{each[name]:.4f}" for name in NAMES]
        table.add_row(each["method"], *figures, *(f"{each[key]:.1f}" for key in times.values()))
    return table
