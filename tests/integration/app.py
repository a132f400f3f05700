"""The whole application in one process: all routers, both real stores, ingest behind the queue."""

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import Engine, text

from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts as IngestParts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
from functions.manage.parts import Parts as ManageParts
from functions.manage.routers import make_routers
from functions.retrieve.app import make_router
from functions.retrieve.channels import Searcher
from functions.retrieve.parts import Parts as RetrieveParts
from functions.retrieve.pool import Pool
from shared.errors import WinnowError
from shared.external.client import ExternalClient
from shared.external.guard import split_hosts
from shared.http.app import make_app
from shared.http.keys import guard
from shared.model import Change, EmbeddingSpace
from shared.models.rerankers import check_default
from shared.ports import ChunkIndex, ChunkSearch, ContentStore, Embedder
from tests.fakes.chat import FakeChatModels
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.objects import FakeObjects
from tests.fakes.reranker import FakeRerankers
from tests.fakes.settings import make_settings

KEY = "k" * 32
Json = dict[str, Any]


class Embedders:
    """A `FakeEmbedder` for each space that is no `given` one."""

    def __init__(self) -> None:
        self.made: dict[EmbeddingSpace, FakeEmbedder] = {}

    def __call__(self, space: EmbeddingSpace) -> Embedder | None:
        if space.provider in {"given", "none"}:
            return None
        return self.made.setdefault(space, FakeEmbedder(space))


class InProcessQueue:
    """A `ChangeQueue` that ingests at once; a failure ends there, as it would in a worker."""

    def __init__(self, take: Callable[[Change], None]) -> None:
        self._take = take

    def send(self, changes: Sequence[Change]) -> None:
        for change in changes:
            try:
                self._take(change)
            except WinnowError:
                continue


@dataclass(frozen=True, kw_only=True)
class App:
    """What a user does with Winnow, as verbs; every write waits until queries find it."""

    engine: Engine
    index: ChunkIndex
    search: ChunkSearch
    content: ContentStore
    embedders: Embedders
    objects: FakeObjects
    client: TestClient
    api: FastAPI
    retrieve_parts: RetrieveParts
    ingest_parts: IngestParts

    def dataset(self, model: str = "m", dimension: int = 2, **body: Any) -> str:
        """Makes a dataset whose chunks bring their vectors, and returns its id."""
        embedding = {"provider": "given", "model": model, "dimension": dimension}
        return self.make({"embedding": embedding} | body)

    def economy(self, **body: Any) -> str:
        return self.make({"indexing_technique": "economy"} | body)

    def embedded(self, **body: Any) -> str:
        """Makes a dataset whose chunks the fake embedder embeds."""
        model = {"provider": "openai_compatible", "model": "fake", "dimension": 8}
        return self.make({"embedding": model} | body)

    def make(self, body: Json) -> str:
        answer = self.client.post("/v1/datasets", json={"name": uuid.uuid4().hex} | body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def send(self, dataset_id: str, **body: Any) -> Response:
        path = f"/v1/datasets/{dataset_id}/documents?wait=true"
        return self.client.post(path, json={"name": "untitled"} | body)

    def put(self, dataset_id: str, name: str, *chunks: Json, **body: Any) -> Json:
        """Sends a document of these chunks and returns it, searchable."""
        answer = self.send(dataset_id, **({"name": name, "chunks": list(chunks)} | body))
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def put_text(self, dataset_id: str, name: str, content: str, **body: Any) -> Json:
        answer = self.send(dataset_id, **({"name": name, "text": content} | body))
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def put_all(self, dataset_id: str, documents: Sequence[Json]) -> list[Json]:
        path = f"/v1/datasets/{dataset_id}/documents/batch?wait=true"
        answer = self.client.post(path, json={"documents": list(documents)})
        assert answer.status_code == 201, answer.text
        return list(answer.json()["documents"])

    def change(self, document_id: str, **body: Any) -> Json:
        answer = self.client.patch(f"/v1/documents/{document_id}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def delete(self, document_id: str) -> Response:
        return self.client.delete(f"/v1/documents/{document_id}?wait=true")

    def ask(self, dataset_ids: str | Sequence[str], query: str, **body: Any) -> Response:
        ids = [dataset_ids] if isinstance(dataset_ids, str) else list(dataset_ids)
        return self.client.post(
            "/v1/retrieve", json={"query": query, "dataset_ids": ids, "deadline_ms": 20_000} | body
        )

    def retrieve(self, dataset_ids: str | Sequence[str], query: str, **body: Any) -> Json:
        """Returns the answer to a query; a vector comes along unless the body says which."""
        answer = self.ask(dataset_ids, query, **({"query_vector": [1, 0]} | body))
        assert answer.status_code == 200, answer.text
        found = dict(answer.json())
        assert found["degraded"] == []
        return found

    def ask_in_time(self, late: str, dataset_ids: str, query: str, **body: Any) -> Json:
        """Returns the answer to a query of which one channel never comes to an end.

        The others need some time, on a busy machine more, and a deadline is always waited for.
        """
        for seconds in (1, 4, 16):
            answer = self.ask(dataset_ids, query, **(body | {"deadline_ms": seconds * 1_000}))
            missing = {each["channel"] for each in answer.json().get("degraded", ())}
            if answer.status_code == HTTPStatus.OK and missing == {late}:
                return dict(answer.json())
        raise AssertionError(f"something beside {late} was late, or failed")

    def with_chat(self, chat_for: Any, timeout: float = 5) -> "App":
        """Returns the same application over other chat models."""
        return self._over(replace(self.retrieve_parts, chat_for=chat_for, chat_timeout=timeout))

    def with_reranker(self, reranker_for: Any, timeout: float = 20, candidates: int = 100) -> "App":
        """Returns the same application over other reranking models."""
        parts = replace(
            self.retrieve_parts,
            reranker_for=reranker_for,
            reranker_timeout=timeout,
            reranker_candidates=candidates,
        )
        return self._over(parts)

    def titles(self, dataset_ids: str | Sequence[str], query: str, **body: Any) -> list[str]:
        return [r["title"] for r in self.retrieve(dataset_ids, query, **body)["records"]]

    def scalar(self, statement: str, **parameters: Any) -> Any:
        with self.engine.connect() as connection:
            return connection.execute(text(statement), parameters).scalar()

    def with_search(
        self,
        search: ChunkSearch,
        pool: Pool | None = None,
        embedders: Embedders | None = None,
        outside: Pool | None = None,
    ) -> "App":
        """Returns the same application over another way to search."""
        searcher = Searcher(
            search=search,
            embedder_for=embedders or self.embedders,
            pool=pool or self.retrieve_parts.searcher.pool,
            depth=100,
        )
        parts = replace(self.retrieve_parts, searcher=searcher, outside=outside or searcher.pool)
        return replace(self._over(parts), search=search)

    def _over(self, parts: RetrieveParts) -> "App":
        """Returns the application over other parts; of its routes it has those of retrieval."""
        api = make_app(make_router(parts, guard(KEY)), most_bytes=8_000_000)
        return replace(self, retrieve_parts=parts, api=api, client=open_client(api))


def near(content: str, cosine: float, **more: Any) -> Json:
    """Returns a chunk whose cosine with the query vector [1, 0] is this."""
    return {"text": content, "vector": [cosine, math.sqrt(1 - cosine * cosine)]} | more


def where(*conditions: Any, joiner: str | None = None, inputs: Json | None = None) -> Json:
    """Returns `metadata_filtering`; a condition is (name, operator[, value]) or a group."""
    filtering: Json = {"mode": "manual", "conditions": [read_condition(c) for c in conditions]}
    filtering |= {"logical_operator": joiner} if joiner else {}
    return filtering | ({"inputs": inputs} if inputs is not None else {})


def group(joiner: str, *conditions: Any) -> Json:
    return {"logical_operator": joiner, "conditions": [read_condition(c) for c in conditions]}


def read_condition(written: Any) -> Any:
    if not isinstance(written, tuple):
        return written
    keys = ("name", "comparison_operator", "value")
    return dict(zip(keys, written, strict=False))


def open_client(api: FastAPI) -> TestClient:
    client = TestClient(api, raise_server_exceptions=False)
    client.headers["Authorization"] = f"Bearer {KEY}"
    return client


def build(
    engine: Engine,
    index: ChunkIndex,
    search: ChunkSearch,
    content: ContentStore,
    *,
    threads: int,
    external_hosts: str = "",
) -> App:
    """Puts an application together."""
    embedders, objects = Embedders(), FakeObjects()
    ingest_parts = IngestParts(
        engine=engine,
        index=index,
        content=content,
        embedder_for=embedders,
        objects=objects,
        reader=FileReader(Options()),
        max_bytes=1_000_000,
    )
    queue = InProcessQueue(lambda change: ingest(change, ingest_parts))
    manage = ManageParts(
        engine=engine,
        content=content,
        queue=queue,
        max_bytes=1_000_000,
        wait_seconds=5,
        external_hosts=split_hosts(external_hosts),
        providers=frozenset({"given", "local", "openai_compatible"}),
        check_reranker=partial(check_default, make_settings(tei_base_url="http://127.0.0.1:9")),
    )
    pool = Pool(threads)
    searcher = Searcher(search=search, embedder_for=embedders, pool=pool, depth=100)
    external = ExternalClient(external_hosts, connections=4)
    retrieve = RetrieveParts(
        engine,
        searcher,
        external,
        pool,
        FakeChatModels(),
        chat_timeout=5,
        reranker_for=FakeRerankers(),
        reranker_timeout=20,
        reranker_candidates=100,
    )
    caller = guard(KEY)
    api = make_app(
        *make_routers(manage, caller),
        make_router(retrieve, caller),
        most_bytes=8_000_000,
    )
    return App(
        engine=engine,
        index=index,
        search=search,
        content=content,
        embedders=embedders,
        objects=objects,
        client=open_client(api),
        api=api,
        retrieve_parts=retrieve,
        ingest_parts=ingest_parts,
    )
