"""What must not be found is not found, by any way, and takes nobody's place."""

import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, text

from shared.analysis.indexed import index_chunk
from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace, IndexedChunk, SearchScope
from shared.postgres.engine import transaction
from shared.settings import DEFAULT_TENANT
from tests.fakes.chunks import InMemoryChunks
from tests.integration.app import App, Json, near, where

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]


@pytest.mark.parametrize(
    ("hide", "show"),
    [({"enabled": False}, {"enabled": True}), ({"archived": True}, {"archived": False})],
)
def test_i07_a_hidden_document_is_absent_in_every_mode_and_comes_back(
    app: App, hide: Json, show: Json
) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund policy", 0.9))
    app.put(dataset, "b", near("refund window", 0.5))

    def found() -> set[tuple[str, ...]]:
        return {
            tuple(sorted(app.titles(dataset, "refund", search_method=method, **filtering)))
            for method in METHODS
            for filtering in ({}, {"metadata_filtering": where(("document_name", "not empty"))})
        }

    assert found() == {("a", "b")}
    app.change(document["id"], **hide)
    assert found() == {("b",)}
    app.change(document["id"], **hide)
    app.change(document["id"], **show)
    assert found() == {("a", "b")}


def test_i01_a_deleted_document_is_not_found(app: App) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", *(near(f"unique phrase {n}", 0.9) for n in range(37)))
    answer = app.delete(document["id"])
    assert answer.status_code == 201
    for method in METHODS:
        assert app.titles(dataset, "unique phrase", search_method=method) == []
    assert app.delete(document["id"]).status_code == 201
    assert app.client.get(f"/v1/documents/{document['id']}").status_code == 404
    count = "SELECT count(*) FROM chunks WHERE document_id = :id"
    assert app.scalar(count, id=document["id"]) == 0


def test_i11_many_near_hidden_chunks_take_no_place(app: App) -> None:
    dataset = app.dataset(model=uuid.uuid4().hex)
    hidden = app.put(dataset, "hidden", *(near(f"refund {n}", 0.99) for n in range(300)))
    app.put(dataset, "far", *(near(f"refund far {n}", 0.1) for n in range(5)))
    app.change(hidden["id"], enabled=False)
    for method in METHODS:
        found = app.titles(dataset, "refund", search_method=method, top_k=5)
        assert found == ["far"] * 5, method


def test_i05_an_updated_document_is_found_by_its_new_chunks_alone(app: App) -> None:
    dataset = app.dataset()
    old = [near(f"ancient{n} wisdom", 0.5) for n in range(25)]
    app.put(dataset, "x", *old, external_id="x")
    app.put(dataset, "x", *(near(f"fresh{n} news", 0.6) for n in range(3)), external_id="x")
    for method in METHODS:
        found = app.retrieve(dataset, "wisdom news", search_method=method, top_k=100)
        contents = sorted(record["content"] for record in found["records"])
        assert contents == ["fresh0 news", "fresh1 news", "fresh2 news"], method
    assert app.titles(dataset, "ancient3", search_method="full_text_search") == []


class LateNews(InMemoryChunks):
    """Something happens right before the search, or between it and the look at PostgreSQL."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], None] = lambda: None
        self.news: Callable[[], None] = lambda: None

    def search_vector(self, scope: SearchScope, *args: Any, **more: Any) -> list[Any]:
        self.before()
        found = super().search_vector(scope, *args, **more)
        self.news()
        return found


@pytest.fixture
def late(in_memory: Callable[[InMemoryChunks], App]) -> tuple[App, LateNews]:
    chunks = LateNews()
    return in_memory(chunks), chunks


@pytest.mark.parametrize("gone", [{"enabled": False}, {"archived": True}, None])
def test_what_is_hidden_between_search_and_answer_gives_its_place_to_the_next(
    late: tuple[App, LateNews], gone: Json | None
) -> None:
    app, chunks = late
    dataset = app.dataset()
    first = app.put(dataset, "first", near("refund", 0.9))
    for name, cosine in {"second": 0.8, "third": 0.7, "fourth": 0.6}.items():
        app.put(dataset, name, near("refund", cosine))

    def happen() -> None:
        chunks.news = lambda: None
        if gone is None:
            app.client.delete(f"/v1/documents/{first['id']}")
        else:
            app.client.patch(f"/v1/documents/{first['id']}", json=gone)

    chunks.news = happen
    found = app.retrieve(dataset, "refund", top_k=2, explain=True, search_method="semantic_search")
    assert [record["title"] for record in found["records"]] == ["second", "third"]
    assert [each["reason"] for each in found["dropped"]] == ["hidden", "top_k"]


def test_many_that_are_hidden_meanwhile_cost_few_statements(late: tuple[App, LateNews]) -> None:
    app, chunks = late
    dataset = app.dataset()
    near_ones = app.put(dataset, "near", *(near(f"refund {n}", 0.9) for n in range(99)))
    app.put(dataset, "far", near("refund", 0.1))
    sent: list[str] = []

    def happen() -> None:
        app.change(near_ones["id"], enabled=False)
        sent.clear()

    chunks.news = happen

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(app.engine, "before_cursor_execute", note)
    try:
        found = app.retrieve(
            dataset, "refund", top_k=1, explain=True, search_method="semantic_search"
        )
    finally:
        event.remove(app.engine, "before_cursor_execute", note)
    assert [record["title"] for record in found["records"]] == ["far"]
    assert [each["reason"] for each in found["dropped"]] == ["hidden"] * 99
    assert len(sent) == 3


@pytest.mark.usefixtures("driver_leaks")
def test_a_database_that_is_late_is_left_at_the_deadline(late: tuple[App, LateNews]) -> None:
    app, chunks = late
    dataset = app.dataset()
    app.put(dataset, "a", near("refund", 0.9))
    with ExitStack() as held:

        def happen() -> None:
            lock = held.enter_context(transaction(app.engine))
            lock.execute(text("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE"))

        chunks.news = happen
        begun = time.monotonic()
        answer = app.ask(
            dataset, "refund", query_vector=[1, 0], search_method="semantic_search", deadline_ms=500
        )
        assert answer.status_code == 503
        assert time.monotonic() - begun < 8  # the engine's own patience is 10 s
    chunks.news = lambda: None
    assert app.titles(dataset, "refund", search_method="semantic_search") == ["a"]


def test_a_query_in_flight_still_finds_what_a_new_version_replaces(
    late: tuple[App, LateNews],
) -> None:
    app, chunks = late
    dataset = app.dataset()
    app.put(dataset, "a", near("old words", 0.9), external_id="a")

    def happen() -> None:
        chunks.news = lambda: None
        app.put(dataset, "a", near("new words", 0.9), external_id="a")

    chunks.news = happen
    [record] = app.retrieve(dataset, "words")["records"]
    assert record["content"] == "old words"
    [record] = app.retrieve(dataset, "words")["records"]
    assert record["content"] == "new words"


def test_a_document_that_changes_during_a_query_is_all_old_or_all_new(
    late: tuple[App, LateNews],
) -> None:
    app, chunks = late
    dataset = app.dataset()
    kept = near("words kept", 0.5)
    app.put(dataset, "a", near("old words", 0.9), kept, external_id="a")

    def happen() -> None:
        chunks.before = chunks.news = lambda: None
        app.put(dataset, "a", near("new words", 0.8), kept, external_id="a")

    # The new chunk is there for the vector channel, the old one for the text channel, which the
    # in-memory index answers from what it held before.
    chunks.news = happen
    found = app.retrieve(dataset, "words", top_k=10)["records"]
    contents = {record["content"] for record in found}
    assert contents in ({"old words", "words kept"}, {"new words", "words kept"})


@pytest.mark.parametrize("documents", [1, 2])
def test_a_filter_holds_for_what_documents_are_when_they_are_answered(
    late: tuple[App, LateNews], documents: int
) -> None:
    app, chunks = late
    dataset = app.dataset()
    english, chinese = {"lang": "en"}, {"lang": "zh"}
    app.put(dataset, "stays", near("words", 0.5), metadata=english)
    turning = app.put(dataset, "turns", near("words", 0.6), metadata=english)
    if documents > 1:  # so that the filter is one, and not one that every document passes
        app.put(dataset, "other", near("words", 0.7), metadata=chinese)

    def happen() -> None:
        chunks.before = lambda: None
        app.put(dataset, "new", near("words", 0.9), metadata=chinese)
        app.change(turning["id"], metadata=chinese)

    chunks.before = happen
    found = app.titles(
        dataset,
        "words",
        search_method="semantic_search",
        metadata_filtering=where(("lang", "is", "en")),
    )
    assert found == ["stays"]


class Forgetful(InMemoryChunks):
    """An index that fails where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = ""

    def upsert(self, *args: Any) -> None:
        self._check("upsert")
        super().upsert(*args)

    def delete(self, *args: Any) -> None:
        self._check("delete")
        super().delete(*args)

    def _check(self, name: str) -> None:
        if self.broken == name:
            raise IndexUnavailable


def test_i12_what_the_index_could_not_do_is_not_seen_and_is_made_good(
    in_memory: Callable[[InMemoryChunks], App],
) -> None:
    chunks = Forgetful()
    app = in_memory(chunks)
    dataset = app.dataset()
    chunks.broken = "upsert"
    path = f"/v1/datasets/{dataset}/documents"
    sent: Json = {"name": "a", "external_id": "a", "chunks": [near("refund", 0.9)]}
    document = app.client.post(path, json=sent).json()
    assert document["indexing_status"] == "waiting"
    assert app.titles(dataset, "refund") == []
    chunks.broken = ""
    again = app.client.post(f"/v1/documents/{document['id']}/retry?wait=true")
    assert again.status_code == 201
    assert app.titles(dataset, "refund") == ["a"]
    chunks.broken = "delete"
    assert app.client.delete(f"/v1/documents/{document['id']}").status_code == 202
    assert app.titles(dataset, "refund") == []  # the index still holds it


def test_a_chunk_that_postgresql_does_not_know_is_never_answered(
    in_memory: Callable[[InMemoryChunks], App],
) -> None:
    chunks = InMemoryChunks()
    app = in_memory(chunks)
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund", 0.5))
    [space] = chunks._visible
    seq = app.scalar("SELECT seq FROM documents WHERE id = :id", id=document["id"])
    orphan = IndexedChunk(
        id=str(uuid.uuid4()),
        tenant_id="00000000-0000-0000-0000-000000000001",
        dataset_id=dataset,
        document_seq=seq,
        words="refund",
        keywords=["refund"],
        vector=next(iter(chunks._visible[space].values())).vector,
        index_version=1,
    )
    chunks.upsert(space, [orphan])
    chunks.refresh(space)
    for method in METHODS:
        assert app.titles(dataset, "refund", search_method=method) == ["a"], method


def test_what_a_hand_put_into_the_index_under_no_id_is_not_found(app: App) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund policy", 0.9))
    orphan = index_chunk(
        chunk_id="orphan-1",
        tenant_id=DEFAULT_TENANT,
        dataset_id=dataset,
        document_seq=app.scalar("SELECT seq FROM documents WHERE id = :id", id=document["id"]),
        heading="",
        text="refund policy",
        vector=np.array([1, 0], dtype=np.float32),
        index_version=1,
    )
    space = EmbeddingSpace("given", "m", 2)
    app.index.upsert(space, [orphan])
    app.index.refresh(space)
    for method in METHODS:
        for scoring in ({}, {"fusion": {"method": "weighted_score", "keyword_scoring": "dify"}}):
            more = scoring if method == "hybrid_search" else {}
            assert app.titles(dataset, "refund", search_method=method, **more) == ["a"], method
