"""The whole of one hybrid query against its own two engine calls sent at once.

    uv run python -m bench.retrieve [--chunks 10000] [--queries 300] [--home DIR]
                                    [--keyword-scoring bm25] [--profile]

A server process answers POST /v1/retrieve over HTTP; this process is its one caller. In turn, query
by query, the same two request bodies go straight to the engine, from two threads at once. Printed
are both medians, and the ratio of the medians and of each pair. A home that is named is kept, and
its chunks are used again. With a profile, the queries are asked again, and what the service's
process does is sampled: Linux only.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from pyroaring import BitMap

from bench.corpus import build
from bench.profile import profile
from bench.world import KEY, Words, running, serving, unit
from shared.analysis.analyzer import analyze
from shared.clients import connect_search
from shared.fusion.fuse import DEFAULT_KEYWORD_SCORING, KeywordScoring
from shared.model import AllDocuments, Dataset, SearchScope, Vector
from shared.opensearch.search import OpenSearchChunkSearch
from shared.settings import DEFAULT_TENANT, Settings

WARM = 30
"""Queries that only warm both sides up."""

TIMEOUT = 10.0


def main() -> None:
    """Builds the corpus, asks, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--home", type=Path, default=None)
    scorings = list(KeywordScoring)
    parser.add_argument("--keyword-scoring", choices=scorings, default=DEFAULT_KEYWORD_SCORING)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    scoring = KeywordScoring(asked.keyword_scoring)
    with running(asked.home, "bench") as settings:
        dataset = build(settings, asked.chunks)
        questions = list(make_questions(dataset, scoring, asked.queries + WARM))
        with serving() as service:
            caller = Caller(service.url)
            measure(settings, dataset, caller, questions)
            if asked.profile:
                profile(service.pid, lambda: sum(1 for each in questions if caller.ask(each)))


class Caller:
    """Asks the service over one connection."""

    def __init__(self, url: str) -> None:
        self._http = HTTPConnection(urlsplit(url).netloc)
        self._headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}

    def ask(self, question: "Question") -> bytes:
        """Returns the answer's body."""
        self._http.request("POST", "/v1/retrieve", question.encoded, self._headers)
        answer = self._http.getresponse()
        read = answer.read()
        assert answer.status == 200, read
        return read


@dataclass(frozen=True)
class Question:
    """A query: the body that is sent, and what its engine calls are made of.

    Attributes:
        tokens: the text's words.
        weighed: those that vector hits bring BM25 along for.
    """

    encoded: bytes
    vector: Vector
    tokens: Sequence[str]
    weighed: Sequence[str]


def make_questions(dataset: Dataset, scoring: KeywordScoring, count: int) -> list[Question]:
    """Returns queries of eight words."""
    rng, words = np.random.default_rng(2), Words(seed=2)
    questions = []
    for _ in range(count):
        text, vector = words.text(8), unit(rng)
        body = {
            "query": text,
            "dataset_ids": [dataset.id],
            "query_vector": vector.tolist(),
            "fusion": {"keyword_scoring": scoring},
            "deadline_ms": 60_000,
        }
        tokens = analyze(text)
        weighed = tokens if scoring is KeywordScoring.BM25 else []
        questions.append(Question(json.dumps(body).encode(), vector, tokens, weighed))
    return questions


def measure(
    settings: Settings, dataset: Dataset, caller: Caller, questions: Sequence[Question]
) -> None:
    """Asks each query both ways, in turn."""
    search = OpenSearchChunkSearch(connect_search(settings), settings.index_prefix)
    scope = SearchScope(DEFAULT_TENANT, dataset.space, [(dataset.id, AllDocuments())], BitMap())
    depth = settings.retrieval_depth

    def ask_pair(each: Question) -> None:
        calls = [
            pool.submit(search.search_vector, scope, each.vector, depth, TIMEOUT, each.weighed),
            pool.submit(search.search_text, scope, each.tokens, depth, TIMEOUT, each.vector),
        ]
        for call in calls:
            call.result()

    whole, pair, service = [], [], []
    with ThreadPoolExecutor(2) as pool:
        for number, each in enumerate(questions):
            times = [0.0, 0.0]
            answered = b""
            for turn in [0, 1] if number % 2 else [1, 0]:
                begun = time.perf_counter()
                if turn:
                    answered = caller.ask(each)
                else:
                    ask_pair(each)
                times[turn] = (time.perf_counter() - begun) * 1000
            if number >= WARM:
                pair.append(times[0])
                whole.append(times[1])
                service.append(json.loads(answered)["timings_ms"])
    ratio = statistics.median(w / p for w, p in zip(whole, pair, strict=True))
    for name, taken in (("two engine calls at once", pair), ("whole retrieve over HTTP", whole)):
        tenth = statistics.quantiles(taken, n=10)[0]
        print(f"{name}  p50 {statistics.median(taken):7.2f} ms  p10 {tenth:7.2f} ms")
    print(f"ratio of the medians {statistics.median(whole) / statistics.median(pair):.3f}")
    print(f"median of the ratios {ratio:.3f}")
    for step in service[0]:
        print(f"  {step:10} {statistics.median(t[step] for t in service):7.2f} ms")


if __name__ == "__main__":
    main()
