"""What the benchmarks share: a stack of their own, made-up text and vectors, a serving process."""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import urllib3
from sqlalchemy import Engine

from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts as IngestParts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
from functions.migrate.run import upgrade
from local.stack import start
from shared.clients import connect_database, connect_search
from shared.content.folder import FolderContentStore
from shared.model import (
    CHUNKS_MEDIA_TYPE,
    Change,
    Chunking,
    Dataset,
    EmbeddingSpace,
    IndexingTechnique,
    JsonObject,
    SourceObject,
    Vector,
)
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.datasets import create_dataset
from shared.postgres.documents import DocumentWrite
from shared.postgres.engine import transaction
from shared.postgres.intake import accept_document, name_document
from shared.settings import DEFAULT_TENANT, Settings, read_settings

SPACE = EmbeddingSpace("given", "bench", 384)
KEY = "bench-" + "k" * 40
UPLOADER = "bench"
WARM_UP = 3


class Words:
    """Text of made-up words whose frequencies fall as in language (Zipf)."""

    def __init__(self, seed: int, vocabulary: int = 20_000) -> None:
        self._rng = random.Random(seed)
        letters, rng = "abcdefghijklmnopqrstuvwxyz", random.Random(7)
        self._words = [
            "".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(vocabulary)
        ]
        self._weights = np.cumsum([1 / (n + 3) for n in range(vocabulary)]).tolist()

    def text(self, count: int) -> str:
        """Returns so many words."""
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=count))


def unit(rng: np.random.Generator) -> Vector:
    """Returns a random vector of length 1."""
    vector = rng.standard_normal(SPACE.dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def take_turns(sides: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Returns each side's median in milliseconds, after three rounds that only warm up.

    They go forth and back in turn, so that what else the machine does falls on all of them.
    """
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + WARM_UP):
        for each in range(len(sides))[:: 1 if number % 2 else -1]:
            begun = time.perf_counter()
            sides[each]()
            if number >= WARM_UP:
                times[each].append((time.perf_counter() - begun) * 1000)
    return [statistics.median(those) for those in times]


@contextmanager
def running(home: Path | None, index_prefix: str) -> Iterator[Settings]:
    """Runs a stack with the newest schema; its home is a temporary folder unless given."""
    with tempfile.TemporaryDirectory() as folder:
        home = home or Path(folder) / "home"
        with start(home) as stack:
            os.environ |= {
                "WINNOW_DATABASE_URL": stack.database_url,
                "WINNOW_OPENSEARCH_URL": stack.opensearch_url,
                "WINNOW_CONTENT_URL": f"file://{home}/content",
                "WINNOW_INDEX_PREFIX": index_prefix,
                "WINNOW_BOOTSTRAP_KEY": KEY,
            }
            settings = read_settings()
            upgrade(connect_database(settings))
            yield settings


def make_dataset(engine: Engine, name: str, space: EmbeddingSpace = SPACE) -> Dataset:
    """Makes a dataset of an embedding space; by default its chunks bring their vectors."""
    technique = IndexingTechnique.HIGH_QUALITY if space.has_vectors else IndexingTechnique.ECONOMY
    with transaction(engine) as connection:
        return create_dataset(
            connection,
            tenant_id=DEFAULT_TENANT,
            name=name,
            description="",
            indexing_technique=technique,
            space=space,
            retrieval={},
            chunking=Chunking(),
        )


def make_parts(settings: Settings, engine: Engine | None = None) -> IngestParts:
    """Returns what ingest works with, where every chunk brings its vector."""
    return IngestParts(
        engine=engine or connect_database(settings),
        index=OpenSearchChunkIndex(connect_search(settings), settings.index_prefix),
        content=FolderContentStore(Path(settings.content_url.removeprefix("file://"))),
        embedder_for=lambda _: None,
        objects=NoObjects(),
        reader=FileReader(Options()),
        max_bytes=10**9,
    )


def take_document(
    parts: IngestParts,
    dataset: Dataset,
    external_id: str,
    data: bytes,
    name: str = "document",
    metadata: JsonObject | None = None,
) -> Change | None:
    """Takes in a document of chunks, {"chunks": [{"text", "vector"}]}; returns what is to do."""
    write = DocumentWrite(
        id=name_document(dataset.id, external_id),
        tenant_id=dataset.tenant_id,
        dataset_id=dataset.id,
        external_id=external_id,
        source=None,
        name=name,
        uploader=UPLOADER,
        metadata=metadata or {},
        content_key=f"bench/{uuid.uuid4()}",
        content_hash=external_id,
        media_type=CHUNKS_MEDIA_TYPE,
    )
    return accept_document(parts.engine, parts.content, write, data)[1]


class Sender:
    """Sends documents of chunks through the ingest pipeline."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._words = Words(seed=1)
        self._rng = np.random.default_rng(1)
        self._parts = make_parts(settings, engine)

    def send(
        self, dataset: Dataset, external_id: str, name: str, metadata: JsonObject, chunks: int
    ) -> None:
        """Makes one document searchable, of so many chunks of 80 words."""
        body = [
            {"text": self._words.text(80), "vector": unit(self._rng).tolist()}
            for _ in range(chunks)
        ]
        self.send_chunks(dataset, external_id, name, metadata, body)

    def send_chunks(
        self,
        dataset: Dataset,
        external_id: str,
        name: str,
        metadata: JsonObject,
        body: Sequence[JsonObject],
    ) -> None:
        """Makes one document searchable that is given as {"text", "vector"} each chunk."""
        data = json.dumps({"chunks": body}).encode()
        change = take_document(self._parts, dataset, external_id, data, name, metadata)
        if change is not None:
            ingest(change, self._parts)


class NoObjects:
    """No bucket sends events here."""

    def size(self, bucket: str, key: str) -> int | None:
        return None

    def read(self, bucket: str, key: str, most: int) -> SourceObject | None:
        return None


@dataclass(frozen=True, slots=True)
class Service:
    """The retrieve app in a process of its own."""

    url: str
    pid: int


@contextmanager
def serving() -> Iterator[Service]:
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
        yield Service(url, server.pid)
    finally:
        server.terminate()
        server.wait()
