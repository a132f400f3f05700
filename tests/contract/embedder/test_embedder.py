"""What every embedder does: the fake, and each adapter on a server or model that works."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from pydantic import SecretStr

from local.artifacts import model_files
from shared.errors import EmbedderFailed
from shared.model import EmbeddingSpace, Image
from shared.models.bedrock import (
    COHERE,
    IMAGE_TITAN,
    TITAN,
    CohereEmbedder,
    TitanEmbedder,
    TitanImageEmbedder,
)
from shared.models.bedrock_client import BedrockRuntime
from shared.models.embedders import reads_images
from shared.models.local import LocalEmbedder
from shared.models.openai_compatible import OpenAICompatibleEmbedder
from shared.models.transport import Transport
from shared.ports import Embedder, ImageEmbedder
from tests.fakes.embedder import FakeEmbedder, FakeImageEmbedder
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.bedrock import BedrockServer
from tests.servers.openai import OpenAIServer

ENGLISH = [
    "The kettle boils the water.",
    "Refunds are paid within ten days of the return.",
    "The engine of the aircraft lost thrust during the climb.",
    "A café opens at seven.",
]
CHINESE = [
    "水壶把水烧开。",
    "退货后十天内退款。",
    "飞机在爬升时发动机失去推力。",
    "咖啡馆七点开门。",
]
REFUND = {"english": "When are refunds paid?", "chinese": "多久能收到退款？"}


def make_fake(_request: pytest.FixtureRequest) -> Embedder:
    return FakeEmbedder(EmbeddingSpace("given", "fake", 64))


def make_titan(request: pytest.FixtureRequest) -> Embedder:
    runtime = request.getfixturevalue("bedrock_runtime")
    return TitanEmbedder(EmbeddingSpace("bedrock", TITAN, 256), runtime, timeout=20)


def make_titan_image(request: pytest.FixtureRequest) -> Embedder:
    runtime = request.getfixturevalue("bedrock_runtime")
    return TitanImageEmbedder(EmbeddingSpace("bedrock", IMAGE_TITAN, 384), runtime, timeout=20)


def make_fake_image(_request: pytest.FixtureRequest) -> Embedder:
    return FakeImageEmbedder(EmbeddingSpace("bedrock", IMAGE_TITAN, 256))


def make_cohere(request: pytest.FixtureRequest) -> Embedder:
    runtime = request.getfixturevalue("bedrock_runtime")
    return CohereEmbedder(EmbeddingSpace("bedrock", COHERE, 1024), runtime, timeout=20)


def make_openai(request: pytest.FixtureRequest) -> Embedder:
    return OpenAICompatibleEmbedder(
        EmbeddingSpace("openai_compatible", "any", 48),
        Transport(4),
        base_url=f"{request.getfixturevalue('openai_server').url}/v1",
        api_key=SecretStr("sk-secret"),
        timeout=20,
    )


def make_local_english(_request: pytest.FixtureRequest) -> Embedder:
    return make_local("bge-small-en-v1.5", 384)


def make_local_chinese(_request: pytest.FixtureRequest) -> Embedder:
    return make_local("bge-small-zh-v1.5", 512)


def make_local(name: str, dimension: int) -> Embedder:
    folder = model_files(name).model.parent
    return LocalEmbedder(EmbeddingSpace("local", name, dimension), folder)


@pytest.fixture(scope="module")
def openai_server() -> Iterator[OpenAIServer]:
    server = OpenAIServer(48)
    with server.running():
        yield server


@pytest.fixture(scope="module")
def bedrock_runtime() -> Iterator[BedrockRuntime]:
    server = BedrockServer()
    with server.running(), pytest.MonkeyPatch.context() as patch:
        for name, value in AWS_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield BedrockRuntime(Transport(4), server.url)


EMBEDDERS = [
    make_fake,
    make_fake_image,
    make_titan,
    make_titan_image,
    make_cohere,
    make_openai,
    make_local_english,
    make_local_chinese,
]


@pytest.fixture(params=EMBEDDERS, ids=lambda make: make.__name__.removeprefix("make_"))
def embedder(request: pytest.FixtureRequest) -> Embedder:
    make: Callable[[pytest.FixtureRequest], Embedder] = request.param
    return make(request)


def texts_of(embedder: Embedder) -> tuple[list[str], str]:
    if embedder.space.model == "bge-small-zh-v1.5":
        return CHINESE, REFUND["chinese"]
    return ENGLISH, REFUND["english"]


def test_vectors_are_unit_float32_of_the_space(embedder: Embedder) -> None:
    texts, query = texts_of(embedder)
    for vector in [*embedder.embed_passages(texts), embedder.embed_query(query, 20)]:
        assert vector.shape == (embedder.space.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)


def test_each_text_has_its_own_vector_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts, _ = texts_of(embedder)
    together = embedder.embed_passages(texts)
    backwards = embedder.embed_passages(texts[::-1])
    for text, vector, again in zip(texts, together, backwards[::-1], strict=True):
        assert np.array_equal(vector, again)
        assert np.array_equal(vector, embedder.embed_passages([text])[0])


def test_a_text_repeated_has_the_same_vector(embedder: Embedder) -> None:
    first, second, third = embedder.embed_passages(["same text", "other", "same text"])
    assert np.array_equal(first, third)
    assert not np.array_equal(first, second)


def test_more_texts_than_any_batch_keep_their_order(embedder: Embedder) -> None:
    texts = [f"number {n}" for n in range(100)]
    vectors = embedder.embed_passages(texts)
    assert len(vectors) == len(texts)
    for n in (0, 63, 64, 95, 96, 99):
        assert np.array_equal(vectors[n], embedder.embed_passages([texts[n]])[0])


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert list(embedder.embed_passages([])) == []


def test_a_query_is_nearest_to_the_passage_that_answers_it(embedder: Embedder) -> None:
    texts, query = texts_of(embedder)
    cosines = np.array(embedder.embed_passages(texts)) @ embedder.embed_query(query, 20)
    assert int(np.argmax(cosines)) == 1


def test_very_long_texts_are_embedded(embedder: Embedder) -> None:
    (vector,) = embedder.embed_passages(["refund 退款 " * 10_000])
    assert vector.shape == (embedder.space.dimension,)


def test_a_query_without_time_fails_at_once(embedder: Embedder) -> None:
    for timeout in (0.0, -1.0):
        with pytest.raises(EmbedderFailed, match="no time was left"):
            embedder.embed_query("late", timeout)


def test_an_image_is_a_query_with_text_or_without(embedder: Embedder) -> None:
    assert isinstance(embedder, ImageEmbedder) == reads_images(embedder.space)
    if not isinstance(embedder, ImageEmbedder):
        return
    image = Image("image/png", b"kettle water")  # the stand-ins read a picture's bytes as words
    alone = embedder.embed_image(image, "", 20)
    both = embedder.embed_image(image, "refunds paid", 20)
    kettle, refund, *_ = embedder.embed_passages(ENGLISH)
    for vector in (alone, both):
        assert vector.shape == (embedder.space.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)
    assert alone @ kettle > alone @ refund
    assert both @ refund > alone @ refund
    with pytest.raises(EmbedderFailed, match="no time was left"):
        embedder.embed_image(image, "late", 0.0)
