"""The whole of one hybrid query against its own two engine calls sent at once.

    uv run python -m bench.retrieve [--chunks 10000] [--queries 200] [--home DIR]

A server process answers POST /v1/retrieve over HTTP; this process is its one caller. In turn, query
by query, the same two request bodies go straight to the engine, from two threads at once. Printed
are both medians, and the ratio of the medians and of each pair.
"""

import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import urllib3
from pyroaring import BitMap

from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts as IngestParts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
from functions.migrate.run import upgrade
from local.stack import start
from shared.analysis.analyzer import analyze
from shared.clients import connect_database, connect_search
from shared.content.folder import FolderContentStore
from shared.model import (
    CHUNKS_MEDIA_TYPE,
    AllDocuments,
    Chunking,
    Dataset,
    EmbeddingSpace,
    IndexingTechnique,
    SearchScope,
    Vector,
)
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.datasets import create_dataset
from shared.postgres.documents import DocumentWrite
from shared.postgres.engine import transaction
from shared.postgres.intake import accept_document
from shared.settings import DEFAULT_TENANT, Settings, read_settings

DIMENSION = 384
CHUNKS_A_DOCUMENT = 100
WORDS_A_CHUNK = 80
KEY = "bench-" + "k" * 40


def main() -> None:
    """Builds the corpus, asks, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--home", type=Path, default=None)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        start(asked.home or Path(folder) / "home") as stack,
    ):
        os.environ |= {
            "WINNOW_DATABASE_URL": stack.database_url,
            "WINNOW_OPENSEARCH_URL": stack.opensearch_url,
            "WINNOW_CONTENT_URL": f"file://{folder}/content",
            "WINNOW_INDEX_PREFIX": f"bench-{uuid.uuid4().hex[:8]}",
            "WINNOW_BOOTSTRAP_KEY": KEY,
        }
        settings = read_settings()
        rng = np.random.default_rng(7)
        words = Words(random.Random(7))
        dataset = build(settings, Path(folder), asked.chunks, rng, words)
        with serving() as url:
            measure(settings, dataset, url, asked.queries, rng, words)


class Words:
    """Text of made-up words whose frequencies fall as in language (Zipf)."""

    def __init__(self, rng: random.Random, vocabulary: int = 20_000) -> None:
        self._rng = rng
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = [
            "".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(vocabulary)
        ]
        self._weights = np.cumsum([1 / (n + 3) for n in range(vocabulary)]).tolist()

    def text(self, count: int) -> str:
        """Returns so many words."""
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=count))


def build(
    settings: Settings, folder: Path, chunks: int, rng: np.random.Generator, words: Words
) -> Dataset:
    """Ingests documents of chunks with vectors, through the ingest pipeline."""
    engine = connect_database(settings)
    upgrade(engine)
    parts = IngestParts(
        engine=engine,
        index=OpenSearchChunkIndex(connect_search(settings), settings.index_prefix),
        content=FolderContentStore(folder / "content"),
        embedder_for=lambda _: None,
        objects=NoObjects(),
        reader=FileReader(Options()),
        max_bytes=10**9,
    )
    with transaction(engine) as connection:
        dataset = create_dataset(
            connection,
            tenant_id=DEFAULT_TENANT,
            name=f"bench {uuid.uuid4()}",
            description="",
            indexing_technique=IndexingTechnique.HIGH_QUALITY,
            space=EmbeddingSpace("given", "bench", DIMENSION),
            retrieval={},
            chunking=Chunking(),
        )
    begun = time.monotonic()
    for number in range(0, chunks, CHUNKS_A_DOCUMENT):
        body = [
            {"text": words.text(WORDS_A_CHUNK), "vector": unit(rng).tolist()}
            for _ in range(min(CHUNKS_A_DOCUMENT, chunks - number))
        ]
        data = json.dumps({"chunks": body}).encode()
        write = DocumentWrite(
            id=str(uuid.uuid4()),
            tenant_id=DEFAULT_TENANT,
            dataset_id=dataset.id,
            external_id=None,
            source=None,
            name=f"document {number}",
            uploader="bench",
            metadata={},
            content_key=f"bench/{number}",
            content_hash=str(number),
            media_type=CHUNKS_MEDIA_TYPE,
        )
        _, change = accept_document(engine, parts.content, write, data)
        if change is not None:
            ingest(change, parts)
    print(f"{chunks} chunks ingested in {time.monotonic() - begun:.1f} s")
    return dataset


class NoObjects:
    """No bucket sends events here."""

    def size(self, bucket: str, key: str) -> int | None:
        return None

    def read(self, bucket: str, key: str, most: int) -> bytes | None:
        return None


def unit(rng: np.random.Generator) -> Vector:
    """Returns a random vector of length 1."""
    vector = rng.standard_normal(DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@contextmanager
def serving() -> Iterator[str]:
    """Runs the retrieve app in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "functions.retrieve.handler:_app"]
    command += ["--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                urllib3.request("GET", f"{url}/health", retries=False)
                break
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


def measure(
    settings: Settings,
    dataset: Dataset,
    url: str,
    queries: int,
    rng: np.random.Generator,
    words: Words,
) -> None:
    """Asks each query both ways, in turn."""
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
