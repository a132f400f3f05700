"""A judged collection in the service, and what it answers."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from local.bars import Watcher
from local.client import Client
from local.datasets import Embedding, check_embedding, ensure_dataset
from local.evaluation.bodies import DocumentBodies
from local.evaluation.collection import Collection
from local.evaluation.measures import CUT
from local.evaluation.methods import Method
from local.evaluation.vectors import KeptVectors, Role
from local.sending import Ending, send

PATIENCE_MS = 60_000
"""A measured answer is a whole one: no channel is given up because this machine is busy."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """A collection's dataset.

    Attributes:
        ids: the service's id of a document → the collection's.
        failed: the collection's id of each document that failed → why.
    """

    dataset_id: str
    ids: Mapping[str, str]
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """What one method answered.

    Attributes:
        run: query id → document ids, best first; without the queries that are blank.
        p50: milliseconds of a request.
        p95: likewise.
    """

    run: Mapping[str, Sequence[str]]
    p50: float
    p95: float


def ingest(
    client: Client,
    collection: Collection,
    model: Embedding,
    vectors: KeptVectors,
    watcher: Watcher,
) -> Ingested:
    """Puts what is not there yet into the collection's own dataset.

    It has an embedding space of its own, so that no other collection's word frequencies count.
    """
    dimension = len(vectors.find(Role.PASSAGE, next(iter(collection.documents.values()))))
    # Named for what it holds: a collection that changed gets a dataset without yesterday's rest.
    name = f"eval-{collection.name[:80]}-{str(model)[:80]}-{collection.digest[:8]}"
    space = Embedding("given", name, dimension)
    dataset = ensure_dataset(client, name, space)
    check_embedding(dataset, space)
    there = {
        each["external_id"]: each["id"]
        for each in client.list_documents(dataset["id"])
        if each["indexing_status"] == "completed" and each["live_version"] == each["version"]
    }
    missing = {id_: text for id_, text in collection.documents.items() if id_ not in there}
    bodies = DocumentBodies(missing, vectors)
    outcomes = send(client, dataset["id"], bodies, f"Ingesting {collection.name}", watcher)
    made = {each.document_id: each.external_id for each in outcomes if each.document_id}
    return Ingested(
        dataset["id"],
        {id_: external_id for external_id, id_ in there.items()} | made,
        {each.external_id: each.reason for each in outcomes if each.ending is Ending.FAILED},
    )


def ask(
    client: Client,
    ingested: Ingested,
    method: Method,
    queries: Mapping[str, str],
    vectors: KeptVectors,
    watcher: Watcher,
    task: str,
) -> Answers:
    """Asks the first of the queries, one after the other."""
    request = {
        "dataset_ids": [ingested.dataset_id],
        "top_k": CUT,
        "deadline_ms": PATIENCE_MS,
        "on_channel_failure": "error",
        **method.request,
    }
    asked = list(queries.items())[: method.most_queries]
    watcher.begin(task, len(asked), "queries")
    run: dict[str, list[str]] = {}
    times: list[float] = []
    for id_, text in asked:
        if text.strip():
            body = request | {"query": text, "query_vector": _find(vectors, text)}
            if not times:
                client.post("/v1/retrieve", body)  # loads dictionaries and models
            began = time.perf_counter()
            answer = client.post("/v1/retrieve", body)
            times.append((time.perf_counter() - began) * 1000)
            run[id_] = [ingested.ids[record["document_id"]] for record in answer["records"]]
        watcher.advance(task, 1)
    watcher.finish(task)
    cuts = statistics.quantiles(times, n=20, method="inclusive") if len(times) > 1 else times
    return Answers(run, statistics.median(times or [0.0]), cuts[-1] if cuts else 0.0)


def _find(vectors: KeptVectors, query: str) -> list[float]:
    found: list[float] = vectors.find(Role.QUERY, query).tolist()
    return found
