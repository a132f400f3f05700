"""Fusing 200 + 200 candidates by kept keywords, against extracting them at query time as Dify does.

    uv run python -m bench.fuse COLLECTION... [--queries 50] [--home DIR]

A collection is a folder as `winnow eval` takes it; each of its documents becomes one chunk. For
each query the text channel finds 200 candidates and 200 more are drawn, so that few are the same.
In turns: ours, from both channels' hits to the ordered list, the statement that loads the kept
keywords included; and Dify's arithmetic alone, on texts that are there already. Both must agree.
"""

import argparse
import random
import statistics
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import batched
from pathlib import Path

import numpy as np
from pyroaring import BitMap
from sqlalchemy import Engine, select

from bench.dify import keyword_scores
from bench.world import Sender, make_dataset, running, unit
from functions.retrieve.load import KeptKeywords, load_keyword_scores
from functions.retrieve.query import Query
from functions.retrieve.search import Found, FoundInSpace
from local.evaluation.collection import Collection, read_collection
from shared.analysis.analyzer import analyze
from shared.clients import connect_database, connect_search
from shared.fusion.deduplicate import deduplicate
from shared.fusion.fuse import FusionPlan, KeywordScoring, fuse
from shared.model import AllDocuments, Channel, Dataset, Hit, SearchMethod, SearchScope
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.engine import read
from shared.postgres.tables import chunks, documents
from shared.settings import DEFAULT_TENANT, Settings

DEPTH = 200
WARM = 3
PLAN = FusionPlan(search_method=SearchMethod.HYBRID, keyword_scoring=KeywordScoring.DIFY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--home", type=Path, default=None)
    asked = parser.parse_args()
    with running(asked.home, f"bench-{uuid.uuid4().hex[:8]}") as settings:
        for folder in asked.collections:
            collection = read_collection(folder, asked.queries + WARM)
            measure(settings, ingest(settings, collection), collection)


def ingest(settings: Settings, collection: Collection) -> Dataset:
    engine, rng = connect_database(settings), np.random.default_rng(1)
    dataset = make_dataset(engine, f"{collection.name} {uuid.uuid4()}")
    sender = Sender(settings, engine)
    for number, texts in enumerate(batched(collection.documents.values(), 500, strict=False)):
        body = [{"text": text, "vector": unit(rng).tolist()} for text in texts]
        sender.send_chunks(dataset, f"{number}", f"part {number}", {}, body)
    return dataset


def measure(settings: Settings, dataset: Dataset, collection: Collection) -> None:
    engine, rng = connect_database(settings), random.Random(2)
    search = OpenSearchChunkSearch(connect_search(settings), settings.index_prefix)
    scope = SearchScope(DEFAULT_TENANT, dataset.space, [(dataset.id, AllDocuments())], BitMap())
    texts = read_texts(engine, dataset)
    ours: list[float] = []
    theirs: list[float] = []
    counts: list[int] = []
    for number, text in enumerate(collection.queries.values()):
        drawn = rng.sample(sorted(texts), DEPTH)
        lists = {
            Channel.VECTOR: [Hit(each, 1 - n / DEPTH) for n, each in enumerate(drawn)],
            Channel.TEXT: search.search_text(scope, analyze(text), DEPTH, 60.0),
        }
        query = Query(
            tenant_id=DEFAULT_TENANT,
            text=text,
            datasets=[dataset],
            filter=None,
            plan=PLAN,
            top_k=4,
            vector=None,
            deadline=60.0,
            fails_on_channel=True,
        )
        found = Found(spaces=[FoundInSpace(scope=scope, lists=lists, vector=None, idf_sum=0.0)])
        ids = [candidate.chunk_id for candidate in deduplicate(lists)]
        candidates = [texts[each] for each in ids]
        turns: list[Callable[[], Mapping[str, float]]] = [
            lambda query=query, found=found: fuse_ours(query, found, engine),  # type: ignore[misc]
            lambda text=text, candidates=candidates, ids=ids: dict(  # type: ignore[misc]
                zip(ids, keyword_scores(text, candidates), strict=True)
            ),
        ]
        times, scores = take_turns(turns, number)
        assert scores[0].keys() == scores[1].keys()
        assert all(abs(scores[0][each] - scores[1][each]) < 1e-6 for each in ids)
        if number >= WARM:
            ours.append(times[0])
            theirs.append(times[1])
            counts.append(len(ids))
    size = statistics.mean(map(len, texts.values()))
    print(f"{collection.name}: {len(texts)} chunks of {size:.0f} characters, {len(ours)} queries")
    print(f"  distinct candidates    {statistics.median(counts):8.0f}")
    print(f"  kept keywords      p50 {statistics.median(ours):8.2f} ms")
    print(f"  extracted as asked p50 {statistics.median(theirs):8.2f} ms")
    print(f"  ratio              1 / {statistics.median(theirs) / statistics.median(ours):.1f}")


def take_turns(
    turns: Sequence[Callable[[], Mapping[str, float]]], number: int
) -> tuple[list[float], list[Mapping[str, float]]]:
    """Returns the milliseconds of each and what it returned; every other time in reverse."""
    times = [0.0] * len(turns)
    answers: list[Mapping[str, float]] = [{}] * len(turns)
    for each in (range(len(turns)), reversed(range(len(turns))))[number % 2]:
        begun = time.perf_counter()
        answers[each] = turns[each]()
        times[each] = (time.perf_counter() - begun) * 1000
    return times, answers


def fuse_ours(query: Query, found: Found, engine: Engine) -> Mapping[str, float]:
    """Returns K of each candidate, as the order was made with it."""
    candidates = [deduplicate(space.lists) for space in found.spaces]
    kept = KeptKeywords(query, engine)
    scores = load_keyword_scores(query, found, candidates, kept, 60.0)
    ranked = fuse(candidates[0], query.plan, scores).ranked
    return {each.chunk_id: each.explanation.keyword_score or 0.0 for each in ranked}


def read_texts(engine: Engine, dataset: Dataset) -> dict[str, str]:
    """Returns the text of each chunk of a dataset."""
    statement = (
        select(chunks.c.id, chunks.c.text)
        .join(documents, documents.c.id == chunks.c.document_id)
        .where(documents.c.dataset_id == dataset.id)
    )
    with read(engine) as connection:
        return {row.id: row.text for row in connection.execute(statement)}


if __name__ == "__main__":
    main()
