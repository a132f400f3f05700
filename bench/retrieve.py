"""The whole of one hybrid query against its own two engine calls sent at once.

    uv run python -m bench.retrieve [--chunks 10000] [--queries 200] [--home DIR]

A server process answers POST /v1/retrieve over HTTP; this process is its one caller. In turn, query
by query, the same two request bodies go straight to the engine, from two threads at once. Printed
are both medians, and the ratio of the medians and of each pair.
"""

import argparse
import json
import statistics
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from pyroaring import BitMap

from bench.world import KEY, Sender, Words, make_dataset, running, serving, unit
from shared.analysis.analyzer import analyze
from shared.clients import connect_database, connect_search
from shared.model import AllDocuments, Dataset, SearchScope, Vector
from shared.opensearch.search import OpenSearchChunkSearch
from shared.settings import DEFAULT_TENANT, Settings

CHUNKS_A_DOCUMENT = 100


def main() -> None:
    """Builds the corpus, asks, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--home", type=Path, default=None)
    asked = parser.parse_args()
    with running(asked.home, f"bench-{uuid.uuid4().hex[:8]}") as settings:
        dataset = build(settings, asked.chunks)
        with serving() as service:
            measure(settings, dataset, service.url, asked.queries)


def build(settings: Settings, chunks: int) -> Dataset:
    """Ingests documents of chunks with vectors, through the ingest pipeline."""
    engine = connect_database(settings)
    dataset = make_dataset(engine, f"bench {uuid.uuid4()}")
    sender = Sender(settings, engine)
    begun = time.monotonic()
    for number in range(0, chunks, CHUNKS_A_DOCUMENT):
        few = min(CHUNKS_A_DOCUMENT, chunks - number)
        sender.send(dataset, f"{number}", f"document {number}", {}, few)
    print(f"{chunks} chunks ingested in {time.monotonic() - begun:.1f} s")
    return dataset


def measure(settings: Settings, dataset: Dataset, url: str, queries: int) -> None:
    """Asks each query both ways, in turn."""
    rng, words = np.random.default_rng(2), Words(seed=2)
    search = OpenSearchChunkSearch(connect_search(settings), settings.index_prefix)
    scope = SearchScope(DEFAULT_TENANT, dataset.space, [(dataset.id, AllDocuments())], BitMap())
    http = HTTPConnection(urlsplit(url).netloc)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    depth, timeout = settings.retrieval_depth, 10.0
    whole, pair, service = [], [], []
    with ThreadPoolExecutor(2) as pool:
        for number in range(queries + 20):
            text, vector = words.text(8), unit(rng)
            tokens = analyze(text)
            body = {"query": text, "dataset_ids": [dataset.id], "query_vector": vector.tolist()}
            encoded = json.dumps(body)

            def ask_both(vector: Vector = vector, tokens: list[str] = tokens) -> None:
                calls = [
                    pool.submit(search.search_vector, scope, vector, depth, timeout),
                    pool.submit(search.search_text, scope, tokens, depth, timeout, vector),
                ]
                for call in calls:
                    call.result()

            def ask_whole(encoded: str = encoded) -> bytes:
                http.request("POST", "/v1/retrieve", body=encoded, headers=headers)
                answer = http.getresponse()
                read = answer.read()
                assert answer.status == 200, read
                return read

            order = [0, 1] if number % 2 else [1, 0]
            times = [0.0, 0.0]
            answered = b""
            for each in order:
                begun = time.perf_counter()
                if each:
                    answered = ask_whole()
                else:
                    ask_both()
                times[each] = (time.perf_counter() - begun) * 1000
            if number >= 20:  # the first ones warm both sides up
                pair.append(times[0])
                whole.append(times[1])
                service.append(json.loads(answered)["timings_ms"])
    ratio = statistics.median(w / p for w, p in zip(whole, pair, strict=True))
    for name, times in (("two engine calls at once", pair), ("whole retrieve over HTTP", whole)):
        tenth = statistics.quantiles(times, n=10)[0]
        print(f"{name}  p50 {statistics.median(times):7.2f} ms  p10 {tenth:7.2f} ms")
    print(f"ratio of the medians {statistics.median(whole) / statistics.median(pair):.3f}")
    print(f"median of the ratios {ratio:.3f}")
    for step in service[0]:
        print(f"  {step:10} {statistics.median(t[step] for t in service):7.2f} ms")


if __name__ == "__main__":
    main()
