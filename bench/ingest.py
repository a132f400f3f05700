"""The whole ingest of chunks with vectors, against the sum of what can't be done without.

    uv run python -m bench.ingest COLLECTION... [--chunks 10000] [--chunks-a-document 125]
        [--workers 4] [--rounds 3] [--embedded 1000] [--profile] [--home DIR]

A collection is a folder as `winnow eval` takes it; its documents, repeated under a number, are the
chunks. In turn, round by round: ours, from taking the documents in until queries find all of their
chunks; and the sum of opensearch-py's `parallel_bulk` of the same chunks into an index of the same
mapping with its refresh, the product's analyzer, and the extraction of keywords. With `--embedded`
so many chunks go the same way once more, with the local embedder in both.
"""

import argparse
import cProfile
import json
import pstats
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import batched
from pathlib import Path

import numpy as np
from opensearchpy import OpenSearch
from opensearchpy.helpers import parallel_bulk

from bench.world import SPACE, make_dataset, make_parts, running, take_document, unit
from functions.ingest.parts import Parts
from functions.ingest.pipeline import work_on
from functions.ingest.together import run_together
from local.artifacts import Cache, model_files
from local.datasets import Embedding
from local.evaluation.collection import read_collection
from local.languages import choose_model
from local.loop import MOST_TOGETHER
from local.models import open_embedder
from local.progress import NoProgress
from shared.analysis.indexed import index_chunk
from shared.fusion.keywords import dify_keywords, pack_keywords
from shared.model import (
    Dataset,
    EmbeddingSpace,
    IndexedChunk,
    JsonObject,
    Vector,
)
from shared.opensearch.mapping import chunk_source, index_body
from shared.ports import Embedder
from shared.settings import DEFAULT_TENANT, Settings


def main() -> None:
    """Measures each collection, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--chunks", type=int, default=10_000)
    # So that events of ten documents come out even among the workers, none idle at the end.
    parser.add_argument("--chunks-a-document", type=int, default=125)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--embedded", type=int, default=0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--home", type=Path, default=None)
    asked = parser.parse_args()
    with running(asked.home, f"bench-{uuid.uuid4().hex[:8]}") as settings:
        for folder in asked.collections:
            texts = list(make_texts(folder, asked.chunks))
            load = Load(texts, asked.chunks_a_document, asked.workers)
            if asked.profile:
                profile(settings, load)
                continue
            print(f"{folder.name}: {len(texts)} chunks, {asked.chunks_a_document} a document")
            compare(settings, load, asked.rounds)
            if asked.embedded:
                few = replace(load, texts=texts[: asked.embedded])
                print(f"{folder.name}, embedded: {len(few.texts)} chunks")
                compare_embedded(settings, few)


@dataclass(frozen=True, slots=True)
class Load:
    """What is ingested, and by how many workers."""

    texts: Sequence[str]
    chunks_a_document: int
    workers: int


def make_texts(folder: Path, count: int) -> Iterator[str]:
    """Yields so many different texts: the collection's documents, again and again."""
    documents = list(read_collection(folder).documents.values())
    for number in range(count):
        copy, place = divmod(number, len(documents))
        yield f"{copy} {documents[place]}"


def make_vectors(count: int) -> list[Vector]:
    """Returns so many random unit vectors."""
    rng = np.random.default_rng(1)
    return [unit(rng) for _ in range(count)]


def compare(settings: Settings, load: Load, rounds: int) -> None:
    """Prints the medians of both sides, and of the ratio of each round."""
    vectors = make_vectors(len(load.texts))
    ours: list[float] = []
    parts: list[dict[str, float]] = []

    def measure_ours() -> None:
        ours.append(ingest_all(settings, load, vectors))

    def measure_others() -> None:
        parts.append(measure_parts(settings, load.texts, vectors))

    sides = [measure_ours, measure_others]
    for number in range(rounds):
        for side in sides[:: 1 if number % 2 else -1]:
            side()
    sums = [sum(each.values()) for each in parts]
    ratios = [mine / other for mine, other in zip(ours, sums, strict=True)]
    print(f"  whole ingest {statistics.median(ours):.2f} s")
    for name in parts[0]:
        print(f"  {name} {statistics.median(each[name] for each in parts):.2f} s")
    print(f"  sum {statistics.median(sums):.2f} s")
    print(f"  ratio {statistics.median(ratios):.2f} ({', '.join(f'{r:.2f}' for r in ratios)})")


def ingest_all(
    settings: Settings,
    load: Load,
    vectors: Sequence[Vector] | None,
    embedder: Embedder | None = None,
) -> float:
    """Returns the seconds from the first document taken in until all of them are found."""
    parts = replace(make_parts(settings), embedder_for=lambda _: embedder)
    dataset = make_dataset(
        parts.engine, uuid.uuid4().hex, SPACE if embedder is None else embedder.space
    )
    bodies = list(make_bodies(load, vectors))
    begun = time.perf_counter()
    with ThreadPoolExecutor(load.workers) as pool:
        batches = batched(enumerate(bodies), MOST_TOGETHER, strict=False)
        for _ in pool.map(lambda batch: take(parts, dataset, batch), batches):
            pass
    return time.perf_counter() - begun


def take(parts: Parts, dataset: Dataset, batch: Sequence[tuple[int, bytes]]) -> None:
    """Takes documents in, and makes them searchable, as one worker does with an event's."""
    changes = [take_document(parts, dataset, f"{number}", body) for number, body in batch]
    ends = run_together([work_on(change, parts) for change in changes if change is not None])
    for error in ends:
        if error is not None:
            raise error


def make_bodies(load: Load, vectors: Sequence[Vector] | None) -> Iterator[bytes]:
    """Yields documents of chunks as their sender cut them."""
    numbered = list(enumerate(load.texts))
    for some in batched(numbered, load.chunks_a_document, strict=False):
        chunks: list[JsonObject] = [
            {"text": text} | ({} if vectors is None else {"vector": vectors[n].tolist()})
            for n, text in some
        ]
        yield json.dumps({"chunks": chunks}, ensure_ascii=False).encode()


def measure_parts(
    settings: Settings, texts: Sequence[str], vectors: Sequence[Vector]
) -> dict[str, float]:
    """Returns the seconds of each thing that can't be done without."""
    chunks: list[IndexedChunk] = []
    numbered = list(enumerate(zip(texts, vectors, strict=True)))
    analyzer = measure(lambda: chunks.extend(index_text(n, *each) for n, each in numbered))
    keywords = measure(lambda: [pack_keywords(dify_keywords(text)) for text in texts])
    sources = [make_source(each) for each in chunks]
    return {
        "parallel_bulk": write_all(settings, sources, replace(SPACE, dimension=len(vectors[0]))),
        "analyzer": analyzer,
        "keywords": keywords,
    }


def measure(work: Callable[[], object]) -> float:
    """Returns the seconds that something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def index_text(number: int, text: str, vector: Vector) -> IndexedChunk:
    """Returns a text as the index takes it."""
    return index_chunk(
        chunk_id=str(uuid.uuid4()),
        tenant_id=DEFAULT_TENANT,
        dataset_id=str(uuid.UUID(int=1)),
        document_seq=number // 100,
        heading="",
        text=text,
        vector=vector,
        index_version=1,
    )


def make_source(chunk: IndexedChunk) -> JsonObject:
    """Returns a chunk as the index stores it, its vector as others' JSON takes it."""
    source = chunk_source(chunk)
    return source | {"vector": source["vector"].tolist()}


def write_all(settings: Settings, sources: Sequence[JsonObject], space: EmbeddingSpace) -> float:
    """Returns the seconds of opensearch-py's own way, as it comes, and of the refresh after it."""
    client = OpenSearch(settings.opensearch_url, pool_maxsize=8, timeout=60)
    name = f"{settings.index_prefix}-bulk-{uuid.uuid4().hex[:8]}"
    client.indices.create(index=name, body=index_body(f"{name}-alias", space, 1, 0))
    actions = ({"_index": name, "_id": each["chunk"], "_source": each} for each in sources)

    def write() -> None:
        for is_written, _ in parallel_bulk(client, actions):
            assert is_written
        client.indices.refresh(index=name)

    seconds = measure(write)
    client.indices.delete(index=name)
    client.close()
    return seconds


def compare_embedded(settings: Settings, load: Load) -> None:
    """Prints what the ingest with the local embedder costs beyond embedding and the other parts."""
    name = choose_model(load.texts)
    model_files(name, Cache(), NoProgress())
    embedder = open_embedder(Embedding("local", name))
    embedder.embed_passages(load.texts[:1])  # loads it
    made: list[Vector] = []
    embedding = measure(lambda: made.extend(embedder.embed_passages(load.texts)))
    ours = ingest_all(settings, load, None, embedder)
    others = sum(measure_parts(settings, load.texts, made).values())
    print(f"  whole ingest {ours:.2f} s, embedding {embedding:.2f} s, the others {others:.2f} s")
    print(f"  overhead {ours / (embedding + others) - 1:.1%}")


def profile(settings: Settings, load: Load) -> None:
    """Prints where one worker's time goes."""
    vectors = make_vectors(len(load.texts))
    parts = make_parts(settings)
    dataset, bodies = make_dataset(parts.engine, uuid.uuid4().hex), list(make_bodies(load, vectors))
    watch = cProfile.Profile()
    watch.enable()
    for batch in batched(enumerate(bodies), MOST_TOGETHER, strict=False):
        take(parts, dataset, batch)
    watch.disable()
    pstats.Stats(watch).sort_stats("cumulative").print_stats(70)


if __name__ == "__main__":
    main()
