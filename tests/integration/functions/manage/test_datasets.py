import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace, Hit, IndexingStatus
from shared.postgres.engine import transaction
from tests.fakes.chunks import InMemoryChunks
from tests.integration.app import App, Json, near

GIVEN = {"provider": "given", "model": "m", "dimension": 2}
NO_DOCUMENTS = dict.fromkeys(IndexingStatus, 0)


def test_a_dataset_is_made_shown_listed_and_changed(app: App) -> None:
    name = uuid.uuid4().hex
    made = app.client.post("/v1/datasets", json={"name": name, "embedding": GIVEN})
    assert made.status_code == 201
    shown = made.json()
    assert shown["name"] == name
    assert shown["embedding"] == GIVEN
    assert shown["indexing_technique"] == "high_quality"
    assert shown["chunking"] == {"strategy": "headings", "size": 400, "overlap": 40}
    path = f"/v1/datasets/{shown['id']}"
    assert app.client.get(path).json() == shown | {"documents": NO_DOCUMENTS}
    assert shown in app.client.get("/v1/datasets").json()["datasets"]
    changed = app.client.patch(
        path,
        json={"description": "words", "chunking": {"size": 100, "overlap": 50},
              "retrieval": {"top_k": 7}},
    )  # fmt: skip
    assert changed.status_code == 200
    assert changed.json()["chunking"] == {"strategy": "headings", "size": 100, "overlap": 50}
    assert changed.json()["retrieval"] == {"top_k": 7}
    assert changed.json()["name"] == name
    assert app.client.get(path).json() == changed.json() | {"documents": NO_DOCUMENTS}


def test_a_name_is_taken_once(app: App) -> None:
    name, other = uuid.uuid4().hex, app.dataset()
    app.dataset(name=name)
    again = app.client.post("/v1/datasets", json={"name": name, "embedding": GIVEN})
    assert again.status_code == 409
    renamed = app.client.patch(f"/v1/datasets/{other}", json={"name": name})
    assert renamed.status_code == 409
    assert "SQL" not in again.text


def test_an_economy_dataset_has_no_embedding(app: App) -> None:
    shown = app.client.get(f"/v1/datasets/{app.economy()}").json()
    assert shown["embedding"] is None


def test_a_known_model_needs_no_dimension(app: App) -> None:
    embedding = {"provider": "local", "model": "bge-small-en-v1.5"}
    body = {"name": uuid.uuid4().hex, "embedding": embedding}
    made = app.client.post("/v1/datasets", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["embedding"]["dimension"] == 384


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "  "}, "/name"),
        ({"name": "x" * 256}, "/name"),
        ({"name": 5}, "/name"),
        ({"name": "x"}, "/embedding"),
        ({"name": "x", "embedding": {"provider": "given", "model": "m"}}, "/embedding/dimension"),
        ({"name": "x", "embedding": GIVEN | {"dimension": 0}}, "/embedding/dimension"),
        ({"name": "x", "embedding": GIVEN | {"dimension": 16_001}}, "/embedding/dimension"),
        ({"name": "x", "embedding": GIVEN | {"dimension": "2"}}, "/embedding/dimension"),
        ({"name": "x", "embedding": GIVEN | {"provider": "mine"}}, "/embedding/provider"),
        ({"name": "x", "embedding": GIVEN | {"provider": "local"}}, "/embedding/model"),
        ({"name": "x", "embedding": GIVEN | {"provider": "bedrock"}}, "/embedding/provider"),
        ({"name": "x", "embedding": GIVEN | {"colour": 1}}, "/embedding/colour"),
        ({"name": "x", "embedding": GIVEN, "indexing_technique": "economy"}, "/embedding"),
        ({"name": "x", "embedding": GIVEN, "provider": "external"}, "/embedding"),
        ({"name": "x", "embedding": GIVEN, "colour": "red"}, "/colour"),
        ({"name": "x", "embedding": GIVEN, "retrieval": {"top_k": 0}}, "/retrieval/top_k"),
        ({"name": "x", "embedding": GIVEN, "retrieval": {"top": 1}}, "/retrieval/top"),
    ],
)
def test_a_wrong_dataset_is_refused_at_the_field(app: App, body: Json, pointer: str) -> None:
    before = app.scalar("SELECT count(*) FROM datasets")
    answer = app.client.post("/v1/datasets", json=body)
    assert answer.status_code == 400
    assert pointer in [problem["pointer"] for problem in answer.json()["errors"]]
    assert app.scalar("SELECT count(*) FROM datasets") == before


@pytest.mark.parametrize("method", ["semantic_search", "hybrid_search"])
def test_an_economy_dataset_takes_no_defaults_that_need_vectors(app: App, method: str) -> None:
    economy, retrieval = app.economy(), {"search_method": method}
    body = {"name": uuid.uuid4().hex, "indexing_technique": "economy", "retrieval": retrieval}
    for answer in (
        app.client.post("/v1/datasets", json=body),
        app.client.patch(f"/v1/datasets/{economy}", json={"retrieval": retrieval}),
    ):
        assert answer.status_code == 400
        pointers = [problem["pointer"] for problem in answer.json()["errors"]]
        assert pointers == ["/retrieval/search_method"]
    path = f"/v1/datasets/{app.dataset()}"
    assert app.client.patch(path, json={"retrieval": retrieval}).status_code == 200
    path = f"/v1/datasets/{economy}"
    assert app.client.patch(path, json={"retrieval": {"top_k": 3}}).status_code == 200


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"name": None}, "/name"),
        ({"description": None}, "/description"),
        ({"retrieval": None}, "/retrieval"),
        ({"chunking": None}, "/chunking"),
    ],
)
def test_a_change_that_changes_nothing_is_refused(app: App, body: Json, pointer: str) -> None:
    path = f"/v1/datasets/{app.dataset()}"
    before = app.client.get(path).json()
    answer = app.client.patch(path, json=body)
    assert answer.status_code == 400
    assert [problem["pointer"] for problem in answer.json()["errors"]] == [pointer]
    assert app.client.get(path).json() == before


@pytest.mark.parametrize(
    ("chunking", "pointer"),
    [
        ({"size": 100, "overlap": 100}, "/chunking/overlap"),
        ({"size": 100, "overlap": 150}, "/chunking/overlap"),
        ({"size": 100, "overlap": 51}, "/chunking/overlap"),
        ({"size": 100, "overlap": -1}, "/chunking/overlap"),
        ({"size": 0}, "/chunking/size"),
        ({"size": 1.5}, "/chunking/size"),
        ({"size": "100"}, "/chunking/size"),
        ({"strategy": "magic"}, "/chunking/strategy"),
        ({"colour": 1}, "/chunking/colour"),
    ],
)
def test_m01_wrong_chunking_is_refused_on_create_and_on_change(
    app: App, chunking: Json, pointer: str
) -> None:
    dataset = app.dataset()
    body: Json = {"name": uuid.uuid4().hex, "embedding": GIVEN, "chunking": chunking}
    for answer in (
        app.client.post("/v1/datasets", json=body),
        app.client.patch(f"/v1/datasets/{dataset}", json={"chunking": chunking}),
    ):
        assert answer.status_code == 400
        assert pointer in [problem["pointer"] for problem in answer.json()["errors"]]


def test_m17_a_change_of_chunking_leaves_existing_documents_as_they_are(app: App) -> None:
    dataset = app.economy()
    document = app.put_text(dataset, "a.txt", "One sentence. " * 300)
    path = f"/v1/documents/{document['id']}/chunks"
    chunks = app.client.get(path).json()["chunks"]
    app.client.patch(f"/v1/datasets/{dataset}", json={"chunking": {"size": 50, "overlap": 0}})
    assert app.client.get(path).json()["chunks"] == chunks
    shown = app.client.get(f"/v1/documents/{document['id']}").json()
    assert shown["chunking"]["size"] == 400
    other = app.put_text(dataset, "b.txt", "One sentence. " * 300)
    assert other["chunking"]["size"] == 50
    more = app.client.get(f"/v1/documents/{other['id']}/chunks").json()["chunks"]
    assert len(more) > len(chunks)


@pytest.mark.parametrize("id_", ["x", "1", "%20", str(uuid.uuid4()), "null", "a" * 5_000])
def test_an_unknown_dataset_is_404_everywhere(app: App, id_: str) -> None:
    path = f"/v1/datasets/{id_}"
    calls: list[tuple[str, str, Any]] = [
        ("GET", path, None),
        ("PATCH", path, {"name": "x"}),
        ("GET", f"{path}/documents", None),
        ("POST", f"{path}/documents", {"name": "x", "text": "x"}),
        ("POST", f"{path}/documents/batch", {"documents": [{}]}),
    ]
    for method, each, body in calls:
        answer = app.client.request(method, each, json=body)
        assert answer.status_code == 404, (method, each)
    assert app.ask(id_, "x").status_code == 404


def test_the_count_of_searchable_documents(app: App) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("alpha", 0.5))

    def count() -> int:
        return int(app.client.get(f"/v1/datasets/{dataset}").json()["searchable_documents"])

    assert count() == 1
    app.change(document["id"], enabled=False)
    assert count() == 0
    app.change(document["id"], enabled=True)
    app.delete(document["id"])
    assert count() == 0


def test_a_deleted_dataset_is_gone_at_once_and_then_altogether(app: App) -> None:
    dataset, kept = app.dataset(), app.dataset()
    held = [app.put(dataset, f"{n}", near(f"refund {n}", 0.9)) for n in range(3)]
    app.put(kept, "kept", near("refund", 0.5))
    name = app.client.get(f"/v1/datasets/{dataset}").json()["name"]
    answer = app.client.delete(f"/v1/datasets/{dataset}?wait=true")
    assert answer.status_code == 201, answer.text
    assert answer.json()["documents_left"] == 0
    assert app.ask([dataset, kept], "refund").status_code == 404
    assert app.titles(kept, "refund") == ["kept"]
    for path in (f"datasets/{dataset}", f"documents/{held[0]['id']}"):
        assert app.client.get(f"/v1/{path}").status_code == 404
    for count in (
        "SELECT count(*) FROM datasets WHERE id = :id",
        "SELECT count(*) FROM documents WHERE dataset_id = :id",
        "SELECT count(*) FROM outbox WHERE dataset_id = :id",
    ):
        assert app.scalar(count, id=dataset) == 0, count
    space = EmbeddingSpace("given", "m", 2)
    listed = {each.dataset_id for each in app.index.list_chunks(space, None, None, 10_000)}
    assert dataset not in listed
    assert kept in listed
    assert app.dataset(name=name) != dataset
    assert app.client.delete(f"/v1/datasets/{dataset}").status_code == 404


def test_an_external_dataset_is_deleted_with_its_key(app: App) -> None:
    external = {"endpoint": "https://kb.example.com", "knowledge_id": "k", "api_key": "s3cret"}
    dataset = app.make({"provider": "external", "external": external})
    assert app.client.delete(f"/v1/datasets/{dataset}").status_code == 202
    assert app.scalar("SELECT count(*) FROM datasets WHERE id = :id", id=dataset) == 0


@pytest.mark.parametrize("is_known", [True, False])
def test_what_is_no_dataset_of_the_callers_is_not_deleted(app: App, is_known: bool) -> None:
    dataset = str(uuid.uuid4())
    if is_known:
        dataset = app.dataset()
        app.put(dataset, "a", near("refund", 0.9))
        tenant = str(uuid.uuid4())
        with transaction(app.engine) as connection:
            values = {"tenant": tenant, "dataset": dataset}
            connection.execute(text("INSERT INTO tenants (id, name) VALUES (:tenant, 'x')"), values)
            moved = "UPDATE datasets SET tenant_id = :tenant WHERE id = :dataset"
            connection.execute(text(moved), values)
    assert app.client.delete(f"/v1/datasets/{dataset}").status_code == 404
    if is_known:
        marked = "SELECT count(*) FROM datasets WHERE id = :id AND deleted_at IS NULL"
        assert app.scalar(marked, id=dataset) == 1


class Untouched(InMemoryChunks):
    """An index from which nothing can be taken away now."""

    def delete(self, *_: Any) -> None:
        raise IndexUnavailable


def test_of_a_dataset_that_is_being_deleted_nothing_is_seen_and_nothing_taken(
    in_memory: Callable[[InMemoryChunks], App],
) -> None:
    app = in_memory(Untouched())
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund", 0.9), external_id="a")
    name = app.client.get(f"/v1/datasets/{dataset}").json()["name"]
    deleted = app.client.delete(f"/v1/datasets/{dataset}")
    assert (deleted.status_code, deleted.json()["documents_left"]) == (202, 1)
    assert app.ask(dataset, "refund").status_code == 404
    listed = app.client.get("/v1/datasets").json()["datasets"]
    assert dataset not in {each["id"] for each in listed}
    body = {"name": "b", "chunks": [near("refund", 0.5)]}
    one, below = f"/v1/documents/{document['id']}", f"/v1/datasets/{dataset}"
    answers = [
        app.client.get(one),
        app.client.patch(one, json={"enabled": False}),
        app.client.post(f"{one}/retry"),
        app.client.get(f"{one}/chunks"),
        app.client.patch(below, json={"description": "d"}),
        app.client.post(f"{below}/documents", json=body),
        app.client.get(f"{below}/documents"),
        app.client.get(f"{below}/metadata-fields"),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert app.dataset(name=name) != dataset  # the name is free
    again = app.client.delete(below)
    assert (again.status_code, again.json()) == (202, deleted.json())


def test_a_write_that_meets_the_deletion_of_its_dataset_is_refused(
    in_memory: Callable[[InMemoryChunks], App], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = in_memory(Untouched())
    dataset, put = app.dataset(), app.content.put

    def delete_first(*args: Any) -> None:
        put(*args)
        assert app.client.delete(f"/v1/datasets/{dataset}").status_code == 202

    monkeypatch.setattr(app.content, "put", delete_first)
    answer = app.send(dataset, chunks=[near("alpha", 0.5)])
    assert answer.status_code == 404
    assert app.scalar("SELECT count(*) FROM documents WHERE dataset_id = :id", id=dataset) == 0
    assert not app.content.kept  # type: ignore[attr-defined]


def test_a_query_under_way_finds_nothing_of_a_dataset_that_is_deleted_meanwhile(
    in_memory: Callable[[InMemoryChunks], App], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.manage.clear.delete_documents", lambda *_: [])

    class Deleting(InMemoryChunks):
        def search_vector(self, *args: Any, **more: Any) -> list[Hit]:
            found = super().search_vector(*args, **more)
            app.client.delete(f"/v1/datasets/{dataset}")
            return found

    app = in_memory(Deleting())
    dataset = app.dataset()
    app.put(dataset, "a", near("refund", 0.9))
    assert app.titles(dataset, "refund", search_method="semantic_search") == []


def test_a_dataset_shows_how_many_documents_have_each_status(
    in_memory: Callable[[InMemoryChunks], App],
) -> None:
    app = in_memory(InMemoryChunks())
    dataset, other = app.dataset(), app.dataset()
    for name in ("a", "b", "c"):
        app.put(dataset, name, near("refund", 0.5), external_id=name)
    gone = app.put(dataset, "gone", near("refund", 0.5))
    app.delete(gone["id"])
    app.put(other, "other", near("refund", 0.5))
    app.ingest_parts.content.kept.clear()  # type: ignore[attr-defined]
    failed = app.client.get(f"/v1/datasets/{dataset}/documents").json()["documents"][0]
    with transaction(app.engine) as connection:
        values = {"id": failed["id"]}
        connection.execute(text("UPDATE documents SET live_version = NULL WHERE id = :id"), values)
    app.client.post(f"/v1/documents/{failed['id']}/retry")
    shown = app.client.get(f"/v1/datasets/{dataset}").json()["documents"]
    assert shown == NO_DOCUMENTS | {"completed": 2, "error": 1}
    now = app.client.get(f"/v1/documents/{failed['id']}").json()
    assert now["status_since"] > failed["status_since"]
