"""Queries that are an image, or words and an image."""

import base64
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from shared.model import Chunking, EmbeddingSpace, IndexingTechnique
from shared.postgres import datasets
from shared.postgres.engine import transaction
from shared.settings import DEFAULT_TENANT
from tests.fakes.chat import FakeChatModels
from tests.fakes.embedder import FakeImageEmbedder
from tests.fakes.reranker import FakeImageReranker, FakeRerankers
from tests.integration.app import App, Embedders, Json, near

SPACE = EmbeddingSpace("bedrock", "amazon.titan-embed-image-v1", 256)
PNG = b"\x89PNG\r\n\x1a\n"
RERANKED: Json = {"fusion": {"method": "reranking_model"}}


def attach(words: str, media_type: str = "image/png", signature: bytes = PNG) -> Json:
    """Returns a body's attachment: the fake models read a picture's bytes as words."""
    data = base64.b64encode(signature + b" " + words.encode()).decode()
    return {"attachments": [{"media_type": media_type, "data": data}]}


class ImageEmbedders(Embedders):
    """A `FakeImageEmbedder` for the space of images."""

    def __call__(self, space: EmbeddingSpace) -> Any:
        if space != SPACE:
            return super().__call__(space)
        return self.made.setdefault(space, FakeImageEmbedder(space))


@pytest.fixture(scope="module")
def world(app: App) -> tuple[App, str]:
    """The application with a model that reads images, and a dataset of its space."""
    seeing = app.with_search(app.search, embedders=ImageEmbedders())
    with transaction(app.engine) as connection:
        made = datasets.create_dataset(
            connection,
            tenant_id=DEFAULT_TENANT,
            name=uuid.uuid4().hex,
            description="",
            indexing_technique=IndexingTechnique.HIGH_QUALITY,
            space=SPACE,
            retrieval={},
            chunking=Chunking(),
            external=None,
        )
    app.put_text(made.id, "kettle.txt", "a red kettle boils water")
    app.put_text(made.id, "engine.txt", "an engine of a small aircraft")
    return seeing, made.id


def ask(app: App, dataset: str, **body: Any) -> Json:
    answer = app.client.post(
        "/v1/retrieve", json={"dataset_ids": [dataset], "deadline_ms": 20_000} | body
    )
    assert answer.status_code == 200, answer.text
    found = dict(answer.json())
    assert found["degraded"] == []
    return found


def titles(found: Json) -> list[str]:
    return [each["title"] for each in found["records"]]


@pytest.mark.parametrize("method", ["semantic_search", "hybrid_search"])
def test_an_image_without_words_finds_what_is_near(world: tuple[App, str], method: str) -> None:
    app, dataset = world
    found = ask(app, dataset, search_method=method, explain=True, **attach("engine aircraft"))
    assert titles(found) == ["engine.txt", "kettle.txt"]
    for each in found["records"]:
        assert set(each["explain"]["channels"]) == {"vector"}
    assert found["left_out_words"] == 0


def test_words_and_an_image_are_searched_together(world: tuple[App, str]) -> None:
    app, dataset = world
    found = ask(app, dataset, query="boils water", explain=True, **attach("red kettle"))
    assert titles(found) == ["kettle.txt", "engine.txt"]
    explained = found["records"][0]["explain"]
    assert set(explained["channels"]) == {"vector", "text"}
    words_alone = ask(app, dataset, query="boils water", explain=True)
    assert explained["vector_score"] != words_alone["records"][0]["explain"]["vector_score"]
    assert explained["keyword_score"] > 0


@pytest.mark.parametrize(
    ("media_type", "signature"),
    [
        ("image/png", PNG),
        ("image/jpeg", b"\xff\xd8\xff\xe0"),
        ("image/gif", b"GIF87a"),
        ("image/webp", b"RIFF\x24\x00\x00\x00WEBPVP8 "),
    ],
)
def test_the_model_gets_the_image_as_it_was_sent(
    world: tuple[App, str], media_type: str, signature: bytes
) -> None:
    app, dataset = world
    ask(app, dataset, **attach("kettle", media_type, signature))
    embedder = app.retrieve_parts.searcher.embedder_for(SPACE)
    assert isinstance(embedder, FakeImageEmbedder)
    assert embedder.images[-1].media_type == media_type
    assert embedder.images[-1].data == signature + b" kettle"


def test_an_image_of_five_mebibytes_is_taken_and_one_byte_more_is_not(
    world: tuple[App, str],
) -> None:
    app, dataset = world
    largest = 5 * 1024 * 1024 - len(PNG) - 1
    assert len(titles(ask(app, dataset, **attach("x" * largest)))) == 2
    answer = app.client.post(
        "/v1/retrieve", json={"dataset_ids": [dataset], **attach("x" * (largest + 1))}
    )
    assert answer.status_code == 400
    [problem] = answer.json()["errors"]
    assert problem["pointer"] == "/attachments/0/data"
    answer = app.client.post(
        "/v1/retrieve", json={"dataset_ids": [dataset], **attach("x" * 2 * largest)}
    )
    assert answer.status_code == 413


def test_a_reranking_model_reads_the_image_too(world: tuple[App, str]) -> None:
    app, dataset = world
    rerankers = FakeRerankers(FakeImageReranker())
    reranking = app.with_reranker(rerankers)
    image = attach("an engine")
    assert titles(ask(reranking, dataset, **image, **RERANKED)) == ["engine.txt", "kettle.txt"]
    ask(reranking, dataset, query="kettle", **image, **RERANKED)
    assert [query for query, _, _ in rerankers.reranker.asked][-1] == "kettle"
    words: Json = {"search_method": "full_text_search", "query": "kettle engine"}
    found = ask(reranking, dataset, **words, **image, **RERANKED)
    assert titles(found) == ["engine.txt", "kettle.txt"]
    assert isinstance(rerankers.reranker, FakeImageReranker)
    assert len(rerankers.reranker.images) == 3


def test_a_reranking_model_of_texts_is_refused_and_not_asked(world: tuple[App, str]) -> None:
    app, dataset = world
    rerankers = FakeRerankers()
    body = {"dataset_ids": [dataset], "query": "kettle", **attach("kettle"), **RERANKED}
    answer = app.with_reranker(rerankers).client.post("/v1/retrieve", json=body)
    assert answer.status_code == 400
    [problem] = answer.json()["errors"]
    assert problem["pointer"] == "/fusion/reranking_model"
    assert "reads no images" in problem["detail"]
    assert rerankers.reranker.asked == []


BROKEN: dict[str, tuple[Json, str]] = {
    "wrong type": (attach("x", "image/svg+xml"), "/attachments/0/media_type"),
    "no type": ({"attachments": [{"data": ""}]}, "/attachments/0/media_type"),
    "no data": ({"attachments": [{"media_type": "image/png"}]}, "/attachments/0/data"),
    "empty": ({"attachments": [{"media_type": "image/png", "data": ""}]}, "/attachments/0/data"),
    "mismatch": (attach("x", "image/jpeg"), "/attachments/0/data"),
    "broken base64": (
        {"attachments": [{"media_type": "image/png", "data": "iVBORw0KGgo*"}]},
        "/attachments/0/data",
    ),
    "a list of bytes": (
        {"attachments": [{"media_type": "image/png", "data": [137, 80]}]},
        "/attachments/0/data",
    ),
    "two": ({"attachments": attach("x")["attachments"] * 2}, "/attachments"),
    "text": ({"attachments": "x"}, "/attachments"),
    "a field more": (
        {"attachments": [attach("x")["attachments"][0] | {"name": "x.png"}]},
        "/attachments/0/name",
    ),
    "nothing asked": ({}, "/query"),
    "nothing attached": ({"attachments": []}, "/query"),
    "null": ({"query": None, "attachments": None}, "/query"),
    "blank words": ({"query": " ", **attach("x")}, "/query"),
    "full text without words": (
        {**attach("x"), **RERANKED, "search_method": "full_text_search"},
        "/query",
    ),
    "keywords without words": (
        {**attach("x"), **RERANKED, "search_method": "keyword_search"},
        "/query",
    ),
    "full text": (
        {"query": "kettle", **attach("x"), "search_method": "full_text_search"},
        "/attachments",
    ),
    "a vector beside it": ({**attach("x"), "query_vector": [1.0] * 256}, "/query_vector"),
    "automatic without words": (
        {**attach("x"), "metadata_filtering": {"mode": "automatic"}},
        "/query",
    ),
}


@pytest.mark.parametrize(("body", "pointer"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_image_query_is_refused_at_its_place(
    world: tuple[App, str], body: Json, pointer: str
) -> None:
    app, dataset = world
    seeing = app.with_reranker(FakeRerankers(FakeImageReranker()))
    answer = seeing.client.post("/v1/retrieve", json={"dataset_ids": [dataset], **body})
    assert answer.status_code == 400, answer.text
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]
    assert len(answer.content) < 2_000


@pytest.mark.parametrize("make", [App.dataset, App.embedded])
def test_a_dataset_whose_model_reads_text_alone_refuses_an_image(
    app: App, make: Callable[[App], str]
) -> None:
    dataset = make(app)
    app.put(dataset, "a", near("kettle", 0.5) if make is App.dataset else {"text": "kettle"})
    for body in ({"query": "kettle"}, {}):
        answer = app.client.post(
            "/v1/retrieve", json={"dataset_ids": [dataset], **body, **attach("kettle")}
        )
        assert answer.status_code == 400
        [problem] = answer.json()["errors"]
        assert problem["pointer"] == "/attachments"
        assert "reads no images" in problem["detail"]


def test_an_external_base_is_asked_by_words_alone(app: App, world: tuple[App, str]) -> None:
    seeing, dataset = world
    base = {"endpoint": "https://kb.example/api", "knowledge_id": "k", "api_key": "secret-key"}
    outside = app.make({"provider": "external", "external": base})
    for ids, pointer in (([dataset, outside], "/query"), ([outside], "/attachments")):
        answer = seeing.client.post("/v1/retrieve", json={"dataset_ids": ids, **attach("kettle")})
        assert answer.status_code == 400
        assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]


def test_an_automatic_filter_is_read_from_the_words_beside_it(world: tuple[App, str]) -> None:
    app, dataset = world
    chat = app.with_chat(FakeChatModels())
    found = ask(
        chat,
        dataset,
        query="kettle",
        metadata_filtering={"mode": "automatic"},
        **attach("kettle"),
    )
    assert titles(found)[0] == "kettle.txt"
