"""Uploads past the API's limit: a URL, bytes, and the document that they become."""

import uuid
from collections.abc import Callable

import pytest

from tests.fakes.chunks import InMemoryChunks
from tests.fakes.content import FakeContentStore
from tests.integration.app import App, Json

TEXT = b"Refunds take seven days."


@pytest.fixture
def app(in_memory: Callable[[InMemoryChunks], App]) -> App:
    return in_memory(InMemoryChunks())


@pytest.fixture
def dataset(app: App) -> str:
    return app.economy()


def offer(app: App, dataset: str, size: int) -> Json:
    path = f"/v1/datasets/{dataset}/documents/uploads"
    answer = app.client.post(path, json={"size": size})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def put(app: App, upload: Json, data: bytes) -> None:
    """Puts bytes as whoever has the URL does; its path is the key."""
    key = upload["url"].partition(".com/")[2].partition("?")[0]
    app.content.put(key, data, "application/octet-stream")


def upload(app: App, dataset: str, data: bytes) -> str:
    offered = offer(app, dataset, len(data))
    put(app, offered, data)
    return str(offered["upload_id"])


def test_an_upload_becomes_a_document_like_any_file(app: App, dataset: str) -> None:
    offered = offer(app, dataset, len(TEXT))
    assert (offered["method"], offered["size"]) == ("PUT", len(TEXT))
    assert "/uploads/" in offered["url"]
    assert f"size={len(TEXT)}&valid=0:15:00" in offered["url"]
    put(app, offered, TEXT)
    sent = {"name": "refunds.txt", "metadata": {"lang": "en"}, "external_id": "r", "version": 7}
    answer = app.send(dataset, upload_id=offered["upload_id"], **sent)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert {name: made[name] for name in sent} == sent
    assert made["media_type"] == "text/plain"
    chunks = app.client.get(f"/v1/documents/{made['id']}/chunks").json()["chunks"]
    assert [chunk["content"] for chunk in chunks] == [TEXT.decode()]


def test_the_same_upload_sent_again_is_the_same_document(app: App, dataset: str) -> None:
    upload_id = upload(app, dataset, TEXT)
    written = (upload_id, upload_id, upload_id.upper())
    first, *again = (app.send(dataset, name="a.txt", upload_id=each) for each in written)
    assert [each.json() for each in again] == [first.json()] * 2
    other = app.send(dataset, name="a.txt", upload_id=upload(app, dataset, TEXT))
    assert other.json()["id"] != first.json()["id"]


def test_what_a_document_keeps_is_no_longer_the_upload(app: App, dataset: str) -> None:
    upload_id = upload(app, dataset, TEXT)
    made = app.send(dataset, name="a.txt", upload_id=upload_id).json()
    assert isinstance(app.content, FakeContentStore)
    for key in [key for key in app.content.kept if key.startswith("uploads/")]:
        app.content.put(key, b"something else", "")  # the URL still takes bytes
    assert app.client.post(f"/v1/documents/{made['id']}/retry?wait=true").status_code == 201
    chunks = app.client.get(f"/v1/documents/{made['id']}/chunks").json()["chunks"]
    assert [chunk["content"] for chunk in chunks] == [TEXT.decode()]


def test_a_batch_may_have_uploads(app: App, dataset: str) -> None:
    documents = [
        {"name": "a.txt", "upload_id": upload(app, dataset, TEXT)},
        {"name": "b.exe", "upload_id": upload(app, dataset, b"MZ")},
        {"name": "c.txt", "upload_id": str(uuid.uuid4())},
    ]
    path = f"/v1/datasets/{dataset}/documents/batch?wait=true"
    answers = app.client.post(path, json={"documents": documents}).json()["documents"]
    assert [each["status"] for each in answers] == [201, 415, 400]
    assert answers[2]["errors"][0]["pointer"] == "/documents/2/upload_id"


@pytest.mark.parametrize("size", [1_000_001, 5_000_000_000])
def test_more_than_a_document_may_have_is_413(app: App, dataset: str, size: int) -> None:
    path = f"/v1/datasets/{dataset}/documents/uploads"
    assert app.client.post(path, json={"size": size}).status_code == 413
    offered = offer(app, dataset, 1_000_000)
    put(app, offered, b"x" * 1_000_001)
    answer = app.send(dataset, name="a.txt", upload_id=offered["upload_id"])
    assert answer.status_code == 413


@pytest.mark.parametrize("size", [None, -1, 1.5, "4"])
def test_a_size_is_a_number_of_bytes(app: App, dataset: str, size: object) -> None:
    answer = app.client.post(f"/v1/datasets/{dataset}/documents/uploads", json={"size": size})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/size"


@pytest.mark.parametrize("upload_id", ["", "x", "../x", "%2e%2e", str(uuid.uuid4())])
def test_what_is_no_upload_of_this_dataset_is_refused(
    app: App, dataset: str, upload_id: str
) -> None:
    answer = app.send(dataset, name="a.txt", upload_id=upload_id)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/upload_id"
    elsewhere = app.send(dataset, name="a.txt", upload_id=upload(app, app.economy(), TEXT))
    assert elsewhere.status_code == 400


def test_an_upload_stands_in_place_of_text_and_chunks(app: App, dataset: str) -> None:
    answer = app.send(dataset, name="a.txt", text="x", upload_id=upload(app, dataset, TEXT))
    assert answer.status_code == 400
    given = app.dataset()
    refused = app.send(given, name="a.txt", upload_id=upload(app, given, TEXT))
    assert refused.json()["errors"][0]["pointer"] == "/upload_id"
    unknown = app.client.post(f"/v1/datasets/{uuid.uuid4()}/documents/uploads", json={"size": 1})
    assert unknown.status_code == 404
