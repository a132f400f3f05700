import json
from collections.abc import Iterator
from urllib.parse import unquote

import pytest

from shared.errors import ConfigurationError, EmbedderFailed, EmbedderRefused
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
from shared.models.transport import Transport
from tests.fakes.embedder import hash_vector
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.bedrock import BedrockServer, malformed, refuse
from tests.servers.server import Reply


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def server() -> Iterator[BedrockServer]:
    server = BedrockServer(titan_tokens=1000)
    with server.running():
        yield server


def titan_on(server: BedrockServer, timeout: float = 20) -> TitanEmbedder:
    runtime = BedrockRuntime(Transport(4, pause=lambda _: None), server.url)
    return TitanEmbedder(EmbeddingSpace("bedrock", TITAN, 256), runtime, timeout=timeout)


def cohere_on(server: BedrockServer, timeout: float = 20) -> CohereEmbedder:
    runtime = BedrockRuntime(Transport(4, pause=lambda _: None), server.url)
    return CohereEmbedder(EmbeddingSpace("bedrock", COHERE, 1024), runtime, timeout=timeout)


def image_titan_on(server: BedrockServer, timeout: float = 20) -> TitanImageEmbedder:
    runtime = BedrockRuntime(Transport(4, pause=lambda _: None), server.url)
    return TitanImageEmbedder(EmbeddingSpace("bedrock", IMAGE_TITAN, 256), runtime, timeout=timeout)


def test_what_titan_multimodal_gets(server: BedrockServer) -> None:
    embedder = image_titan_on(server)
    embedder.embed_query("q", 20)
    embedder.embed_image(Image("image/png", b"bytes"), "", 20)
    embedder.embed_image(Image("image/webp", b"bytes"), "q", 20)
    config = {"embeddingConfig": {"outputEmbeddingLength": 256}}
    assert [request.body for request in server.requests] == [
        {"inputText": "q", **config},
        {"inputImage": "Ynl0ZXM=", **config},
        {"inputText": "q", "inputImage": "Ynl0ZXM=", **config},
    ]
    assert unquote(server.requests[0].path) == f"/model/{IMAGE_TITAN}/invoke"


def test_titan_multimodal_gets_the_head_that_it_takes_whatever_it_says(
    server: BedrockServer,
) -> None:
    image_titan_on(server).embed_passages(["a b " * 2_000])
    lengths = [len(request.body["inputText"]) for request in server.requests]
    assert lengths == [2_048, 1_024, 512]


def test_titan_multimodal_is_not_asked_for_ever_about_what_it_refuses(
    server: BedrockServer,
) -> None:
    server.script = [malformed("#/inputImage: not an image")] * 9
    with pytest.raises(EmbedderRefused, match="not an image"):
        image_titan_on(server).embed_image(Image("image/png", b"?"), "a" * 5_000, 20)
    assert len(server.requests) == 4
    server.script = [malformed("#/inputImage: not an image")] * 9
    with pytest.raises(EmbedderRefused):
        image_titan_on(server).embed_image(Image("image/png", b"?"), "", 20)
    assert len(server.requests) == 5


def test_titan_gets_one_text_a_call(server: BedrockServer) -> None:
    vectors = titan_on(server).embed_passages(["one", "two"])
    requests = sorted(server.requests, key=lambda request: str(request.body["inputText"]))
    assert [request.body for request in requests] == [
        {"inputText": text, "dimensions": 256, "normalize": True} for text in ("one", "two")
    ]
    assert unquote(requests[0].path) == f"/model/{TITAN}/invoke"
    for text, vector in zip(("one", "two"), vectors, strict=True):
        assert vector @ hash_vector(text, 256) == pytest.approx(1, abs=1e-6)


def test_requests_are_signed_for_bedrock(server: BedrockServer) -> None:
    titan_on(server).embed_query("q", 20)
    authorization = server.requests[0].headers["Authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=testing/")
    assert "/us-east-1/bedrock/aws4_request" in authorization


def test_cohere_gets_batches_of_96_as_documents(server: BedrockServer) -> None:
    texts = [f"text {n}" for n in range(100)]
    vectors = cohere_on(server).embed_passages(texts)
    first, second = (request.body for request in server.requests)
    assert first == {"texts": texts[:96], "input_type": "search_document", "truncate": "END"}
    assert second["texts"] == texts[96:]
    assert vectors[99] @ hash_vector("text 99", 1024) == pytest.approx(1, abs=1e-6)


def test_cohere_gets_a_query_as_a_query(server: BedrockServer) -> None:
    cohere_on(server).embed_query("q", 20)
    assert server.requests[0].body["input_type"] == "search_query"


def test_cohere_gets_no_text_longer_than_it_takes(server: BedrockServer) -> None:
    cohere_on(server).embed_passages(["a" * 5000, "short"])
    assert server.requests[0].body["texts"] == ["a" * 2048, "short"]


def test_titan_gets_the_longest_head_by_halves_that_it_takes(server: BedrockServer) -> None:
    titan_on(server).embed_passages(["a" * 70_000])
    lengths = [len(request.body["inputText"]) for request in server.requests]
    assert lengths == [50_000, 25_000, 12_500, 6_250, 3_125, 1_562, 781]


def test_a_titan_that_takes_nothing_is_given_up(server: BedrockServer) -> None:
    server.titan_tokens = 0
    with pytest.raises(EmbedderFailed, match="no part of this text"):
        titan_on(server).embed_query("abc", 20)
    assert len(server.requests) == 2


def test_one_client_serves_many_calls_on_kept_connections(server: BedrockServer) -> None:
    embedder = cohere_on(server)
    for _ in range(5):
        embedder.embed_query("q", 20)
    assert server.connections == 1


def test_o09_a_connection_that_dies_is_replaced_once(server: BedrockServer) -> None:
    embedder = cohere_on(server)
    embedder.embed_query("q", 20)
    server.script = [Reply(hang_up=True)]
    embedder.embed_query("q", 20)
    assert server.connections == 2


def test_o10_each_query_has_a_time_limit_of_its_own(server: BedrockServer) -> None:
    embedder = titan_on(server)
    server.script = [Reply(delay=20), Reply(delay=20)]
    for timeout in ("0.05", "0.1"):
        with pytest.raises(EmbedderFailed, match=f"did not answer within {timeout} s"):
            embedder.embed_query("q", float(timeout))
    embedder.embed_query("q", 20)
    assert len(server.requests) == 3


def test_o10_passages_take_no_longer_than_the_setting(server: BedrockServer) -> None:
    server.script = [Reply(delay=20), Reply(delay=20)]
    for embedder in (titan_on(server, timeout=0.05), cohere_on(server, timeout=0.05)):
        with pytest.raises(EmbedderFailed, match=r"did not answer within 0\.05 s"):
            embedder.embed_passages(["p"])


@pytest.mark.parametrize(
    "busy",
    [
        refuse("ThrottlingException", 429, "Too many requests"),
        refuse("ModelNotReadyException", 429, "Not ready"),
        refuse("ServiceUnavailableException", 503, "Try again"),
    ],
    ids=["throttled", "not ready", "unavailable"],
)
def test_passages_wait_for_a_busy_model_and_queries_do_not(
    server: BedrockServer, busy: Reply
) -> None:
    embedder = cohere_on(server)
    server.script = [busy, busy]
    assert len(embedder.embed_passages(["p"])) == 1
    assert len(server.requests) == 3
    server.script = [busy]
    with pytest.raises(EmbedderFailed, match=f"answered {busy.status}"):
        embedder.embed_query("q", 20)
    assert len(server.requests) == 4


def test_a_model_that_stays_busy_is_given_up(server: BedrockServer) -> None:
    server.script = [refuse("ThrottlingException", 429, "Too many requests")] * 9
    with pytest.raises(EmbedderFailed, match="rate limit"):
        cohere_on(server).embed_passages(["p"])
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (malformed("#/texts: expected array"), "refuses the request: Malformed input request"),
        (refuse("ModelErrorException", 424, "x"), "the model itself failed"),
        (refuse("InternalServerException", 500, "x"), "out of order"),
        (refuse("ResourceNotFoundException", 404, "x"), "does not know this model"),
        (Reply(b"<html>bad gateway</html>", status=502), "answered 502"),
        (Reply(b"<html>fine</html>"), "no JSON"),
        (Reply([1]), "not an object"),
    ],
    ids=["validation", "model", "internal", "unknown", "gateway", "html", "list"],
)
def test_failures_are_told_in_words(server: BedrockServer, reply: Reply, words: str) -> None:
    server.script = [reply]
    with pytest.raises(EmbedderFailed, match=words):
        cohere_on(server).embed_query("q", 20)
    assert len(server.requests) == 1


def test_a_refusal_does_not_show_the_role(server: BedrockServer) -> None:
    role = "arn:aws:sts::123456789012:assumed-role/winnow"
    server.script = [refuse("AccessDeniedException", 403, f"User: {role} is not authorized")]
    with pytest.raises(EmbedderFailed, match="may not use this model") as refused:
        titan_on(server).embed_query("q", 20)
    assert role not in str(refused.value)


@pytest.mark.parametrize(
    "embeddings",
    [[], [[0.5] * 1024] * 3, [[0.5] * 1024, [0.5] * 512], [[0.5] * 1024, [0.0] * 1024], None],
    ids=["none", "too many", "short vector", "zero vector", "null"],
)
def test_o13_a_cohere_answer_that_fits_not_the_texts_is_refused(
    server: BedrockServer, embeddings: object
) -> None:
    server.script = [Reply({"embeddings": embeddings, "response_type": "embeddings_floats"})]
    with pytest.raises(EmbedderFailed, match=f"{COHERE} gave"):
        cohere_on(server).embed_passages(["one", "two"])


@pytest.mark.parametrize(
    "embedding", [None, [0.5] * 255, [float("nan")] * 256], ids=["null", "short", "nan"]
)
def test_o13_a_titan_answer_that_is_no_vector_is_refused(
    server: BedrockServer, embedding: object
) -> None:
    server.script = [Reply(json.dumps({"embedding": embedding}).encode())]
    with pytest.raises(EmbedderFailed, match="gave no usable vectors"):
        titan_on(server).embed_query("q", 20)


def test_without_a_region_the_missing_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(ConfigurationError, match="AWS_DEFAULT_REGION"):
        BedrockRuntime(Transport(1))


def test_without_credentials_the_failure_is_told(
    server: BedrockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(EmbedderFailed, match="NoCredentialsError"):
        titan_on(server).embed_query("q", 20)
    assert server.requests == []
