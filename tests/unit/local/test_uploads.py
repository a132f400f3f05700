from datetime import timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from local.uploads import Uploads
from shared.content.folder import FolderContentStore

KEY = "uploads/t/d/1"


@pytest.fixture
def store(tmp_path: Path) -> FolderContentStore:
    return FolderContentStore(tmp_path)


@pytest.fixture
def client(store: FolderContentStore) -> TestClient:
    async def answer(_request: object) -> PlainTextResponse:
        return PlainTextResponse("the API's own")

    route = Route("/{path:path}", answer, methods=["GET", "POST", "PUT"])
    return TestClient(Uploads(Starlette(routes=[route]), store))


def test_bytes_are_put_where_they_were_offered_a_place(
    store: FolderContentStore, client: TestClient
) -> None:
    data = bytes(range(256)) * 50_000
    url = store.offer(KEY, len(data), timedelta(minutes=1))
    parts = (data[start : start + 100_000] for start in range(0, len(data), 100_000))
    assert client.put(url, content=parts).status_code == 200
    assert store.get(KEY) == data
    assert client.put(url, content=data[::-1]).status_code == 200
    assert store.get(KEY) == data[::-1]


@pytest.mark.parametrize(("data", "status"), [(b"fiver", 413), (b"two", 400), (b"", 400)])
def test_more_or_fewer_bytes_than_were_asked_for_are_refused(
    store: FolderContentStore, client: TestClient, data: bytes, status: int
) -> None:
    url = store.offer(KEY, 4, timedelta(minutes=1))
    answer = client.put(url, content=data)
    assert answer.status_code == status
    assert answer.json()["status"] == status
    assert store.measure(KEY) is None


def test_a_url_that_was_not_given_is_403(client: TestClient) -> None:
    assert client.put("/v1/uploads/x.y", content=b"four").status_code == 403


def test_everything_else_is_the_apis(store: FolderContentStore, client: TestClient) -> None:
    url = store.offer(KEY, 4, timedelta(minutes=1))
    assert client.get(url).text == "the API's own"
    assert client.post(url, content=b"four").text == "the API's own"
    assert client.put("/v1/documents/x", content=b"four").text == "the API's own"
