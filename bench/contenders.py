"""What a hybrid query is without us: bare calls, Dify's arithmetic, the engine's own hybrid query.

They use one index of the same texts and vectors, and answer with texts, best first.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.helpers import bulk

from bench.corpus import make_chunks
from bench.dify import keyword_scores
from bench.world import SPACE
from shared.analysis.analyzer import analyze
from shared.model import Vector

type Ask = Callable[[str], list[str]]
"""A query's text → the texts that answer it; its vector is known by its text."""

METHOD = {
    "name": "hnsw",
    "engine": "lucene",
    "space_type": "cosinesimil",
    "parameters": {"m": 16, "ef_construction": 100},
}
BATCH = 500
CALLERS = 16
TOP_K = 4


class World:
    """The engine and what is asked of it.

    Attributes:
        url: of the engine.
        chunks: how many there are.
        vectors: of each query, by its text.
        depth: hits of each channel.
    """

    def __init__(self, url: str, chunks: int, vectors: Mapping[str, Vector], depth: int) -> None:
        self.url, self.chunks, self.depth = url, chunks, depth
        self.vectors: dict[str, list[float]] = {
            text: vector.tolist() for text, vector in vectors.items()
        }
        self.client = OpenSearch(url, pool_maxsize=2 * CALLERS, timeout=60)

    def lacks(self, index: str) -> bool:
        """Tells whether an index is still to be filled; half filled, it is thrown away."""
        if not self.client.indices.exists(index=index):
            return True
        self.client.indices.refresh(index=index)
        if self.client.count(index=index)["count"] == self.chunks:
            return False
        self.client.indices.delete(index=index)
        return True


PLAIN, PIPELINE = "plain", "hybrid"


def fill_plain(world: World) -> None:
    """Makes the index that bare calls use, the vector kept out of `_source`."""
    if world.lacks(PLAIN):
        vector = {"type": "knn_vector", "dimension": SPACE.dimension, "method": METHOD}
        body = {
            "settings": {"index": {"knn": True}},
            "mappings": {
                "_source": {"excludes": ["vector"]},
                "properties": {"text": {"type": "text"}, "vector": vector},
            },
        }
        world.client.indices.create(index=PLAIN, body=body)
        chunks = (
            {"_index": PLAIN, "text": text, "vector": vector.tolist()}
            for text, vector in make_chunks(world.chunks)
        )
        bulk(world.client, chunks, chunk_size=BATCH)
        world.client.indices.refresh(index=PLAIN)


def _nearest(world: World, text: str, depth: int) -> dict[str, Any]:
    return {"knn": {"vector": {"vector": world.vectors[text], "k": depth}}}


def _hits(
    world: World, index: str, query: Mapping[str, Any], size: int, **more: Any
) -> Sequence[Any]:
    body = {"query": query, "size": size, "_source": ["text"]}
    found: Sequence[Any] = world.client.search(index=index, body=body, **more)["hits"]["hits"]
    return found


def use_two_calls(world: World, depth: int) -> Callable[[str], list[Sequence[Any]]]:
    """Both bare searches at once, and nothing done with what they found."""
    fill_plain(world)
    pool = ThreadPoolExecutor(2 * CALLERS)

    def ask(text: str) -> list[Sequence[Any]]:
        queries = [_nearest(world, text, depth), {"match": {"text": text}}]
        return [f.result() for f in [pool.submit(_hits, world, PLAIN, q, depth) for q in queries]]

    return ask


def use_dify(world: World) -> Ask:
    """Dify's arithmetic: both searches at once, keywords extracted from what they found."""
    search = use_two_calls(world, world.depth)

    def ask(text: str) -> list[str]:
        nearest, matching = search(text)
        vector_scores = {hit["_source"]["text"]: 2 * hit["_score"] - 1 for hit in nearest}
        texts = list(dict.fromkeys([*vector_scores, *(h["_source"]["text"] for h in matching)]))
        keyword = keyword_scores(text, texts)
        scores = {
            each: 0.7 * vector_scores.get(each, 0.0) + 0.3 * score
            for each, score in zip(texts, keyword, strict=True)
        }
        return sorted(texts, key=lambda each: -scores[each])[:TOP_K]

    return ask


def use_hybrid(world: World, index: str) -> Ask:
    """OpenSearch's own hybrid query with its normalization processor, on Winnow's own index."""
    processor = {
        "normalization": {"technique": "min_max"},
        "combination": {"technique": "arithmetic_mean", "parameters": {"weights": [0.3, 0.7]}},
    }
    pipeline = {"phase_results_processors": [{"normalization-processor": processor}]}
    world.client.transport.perform_request("PUT", f"/_search/pipeline/{PIPELINE}", body=pipeline)
    words = {text: " ".join(analyze(text)) for text in world.vectors}

    def ask(text: str) -> list[str]:
        match = {"match": {"text": words[text]}}
        queries = [match, _nearest(world, text, world.depth)]
        query = {"hybrid": {"queries": queries, "pagination_depth": world.depth}}
        found = _hits(world, index, query, TOP_K, params={"search_pipeline": PIPELINE})
        return [hit["_source"]["text"] for hit in found]

    return ask
