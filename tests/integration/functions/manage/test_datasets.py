import uuid
from typing import Any

import pytest

from tests.integration.app import App, Json, near

GIVEN = {"provider": "given", "model": "m", "dimension": 2}


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
    assert app.client.get(path).json() == shown
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
    assert app.client.get(path).json() == changed.json()


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
