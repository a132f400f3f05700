from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from shared.errors import EmbedderFailed
from shared.model import EmbeddingSpace
from shared.models.openai_compatible import OpenAICompatibleEmbedder
from shared.models.transport import Transport
from tests.fakes.embedder import hash_vector
from tests.servers.openai import OpenAIServer, refuse
from tests.servers.server import Reply, Request

KEY = "sk-very-secret"
TEXTS = ["first text", "second text", "third text"]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    server = OpenAIServer(8)
    with server.running():
        yield server


def embedder_on(
    server: OpenAIServer,
    *,
    model: str = "any-model",
    base_path: str = "/v1",
    api_key: str | None = KEY,
    timeout: float = 20,
    batch_size: int = 64,
) -> OpenAICompatibleEmbedder:
    return OpenAICompatibleEmbedder(
        EmbeddingSpace("openai_compatible", model, 8),
        Transport(4, pause=lambda _: None),
        base_url=server.url + base_path,
        api_key=None if api_key is None else SecretStr(api_key),
        timeout=timeout,
        batch_size=batch_size,
    )


def in_order(server: OpenAIServer, order: list[int]) -> Callable[[Request], Reply]:
    return lambda request: Reply(server.write_answer(request, order))


def changed(server: OpenAIServer, change: Callable[[dict[str, Any]], object]) -> Any:
    def answer(request: Request) -> Reply:
        body = server.write_answer(request, range(len(request.body["input"])))
        change(body)
        return Reply(body)

    return answer


def test_the_request_is_what_such_servers_take(server: OpenAIServer) -> None:
    embedder_on(server).embed_passages(TEXTS)
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "any-model", "input": TEXTS, "encoding_format": "float"}
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"


def test_only_models_that_can_be_cut_are_sent_the_dimension(server: OpenAIServer) -> None:
    embedder_on(server, model="text-embedding-3-small").embed_query("q", 20)
    assert server.requests[0].body["dimensions"] == 8


def test_without_a_key_none_is_sent_and_a_slash_in_the_address_does_no_harm(
    server: OpenAIServer,
) -> None:
    embedder_on(server, api_key=None, base_path="/v1/").embed_query("q", 20)
    assert "Authorization" not in server.requests[0].headers


def test_o13_an_answer_out_of_order_is_put_in_order(server: OpenAIServer) -> None:
    server.script = [in_order(server, [2, 0, 1])]
    for text, vector in zip(TEXTS, embedder_on(server).embed_passages(TEXTS), strict=True):
        assert vector @ hash_vector(text, 8) == pytest.approx(1, abs=1e-6)


def test_o13_texts_are_cut_into_batches_and_keep_their_order(server: OpenAIServer) -> None:
    texts = [f"text {n}" for n in range(7)]
    server.script = [in_order(server, [2, 0, 1]), in_order(server, [1, 2, 0])]
    vectors = embedder_on(server, batch_size=3).embed_passages(texts)
    assert [request.body["input"] for request in server.requests] == [
        texts[:3],
        texts[3:6],
        texts[6:],
    ]
    assert np.allclose(vectors, [hash_vector(text, 8) for text in texts], atol=1e-6)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 2, 2], [0, 1, 2, 2], []], ids=str)
def test_o13_a_short_or_repeating_answer_is_refused(server: OpenAIServer, order: list[int]) -> None:
    server.script = [in_order(server, order)]
    with pytest.raises(EmbedderFailed, match="any-model gave"):
        embedder_on(server).embed_passages(TEXTS)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["data"][1].pop("index"),
        lambda body: body["data"][1].update(index=0),
        lambda body: body["data"][1].update(embedding=[0.5] * 7),
        lambda body: body["data"][1].update(embedding=[0.0] * 8),
        lambda body: body["data"][1]["embedding"].__setitem__(3, float("nan")),
        lambda body: body["data"][1]["embedding"].__setitem__(3, "0.5"),
        lambda body: body.update(data=None),
        lambda body: body.pop("data"),
    ],
    ids=["no index", "same index", "short", "zero", "nan", "text", "null data", "no data"],
)
def test_o13_a_wrong_answer_is_refused(
    server: OpenAIServer, change: Callable[[dict[str, Any]], object]
) -> None:
    server.script = [changed(server, change)]
    with pytest.raises(EmbedderFailed, match="any-model gave"):
        embedder_on(server).embed_passages(TEXTS)


@pytest.mark.parametrize("body", [b"", b"<html>busy</html>", b'["x"]', b'{"data": ['])
def test_an_answer_that_is_no_json_object_is_refused(server: OpenAIServer, body: bytes) -> None:
    server.script = [Reply(body)]
    with pytest.raises(EmbedderFailed, match="the server of any-model answered"):
        embedder_on(server).embed_query("q", 20)


def test_passages_wait_for_a_busy_server(server: OpenAIServer) -> None:
    server.script = [refuse(429, "slow down"), refuse(503, "overloaded")]
    assert len(embedder_on(server).embed_passages(TEXTS)) == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_query_does_not_wait_for_a_busy_server(server: OpenAIServer, status: int) -> None:
    server.script = [refuse(status, "slow down")]
    with pytest.raises(EmbedderFailed, match=str(status)):
        embedder_on(server).embed_query("q", 20)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_query_that_is_too_long_counts_by_its_beginning(
    server: OpenAIServer, status: int
) -> None:
    def answer(request: Request) -> Reply:
        too_long = len(request.body["input"][0]) > 8_192
        return refuse(status, "8192 tokens at most") if too_long else server.embed(request)

    server.script = [answer] * 3
    text = "refund 退款 " * 2_000
    assert np.array_equal(
        embedder_on(server).embed_query(text, 20), hash_vector(text[: len(text) // 4], 8)
    )
    assert len(server.requests) == 3


def test_a_query_that_is_refused_at_any_length_is_soon_given_up(server: OpenAIServer) -> None:
    server.script = [refuse(400, "no such dimension")] * 20
    with pytest.raises(EmbedderFailed, match="no such dimension"):
        embedder_on(server).embed_query("q" * 20_000, 20)
    assert len(server.requests) == 8


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error": "words"}', b'{"error": {}}', b"[]"])
def test_a_refusal_in_any_form_is_told(server: OpenAIServer, body: bytes) -> None:
    server.script = [Reply(body, status=400)]
    with pytest.raises(EmbedderFailed, match="the server of any-model answered 400"):
        embedder_on(server).embed_query("q", 20)


def test_a_refusal_says_why_and_never_shows_the_key(server: OpenAIServer) -> None:
    server.script = [
        refuse(400, "maximum context length is 8192 tokens"),
        refuse(401, f"Incorrect API key provided: {KEY}"),
    ]
    embedder = embedder_on(server)
    with pytest.raises(EmbedderFailed, match="maximum context length"):
        embedder.embed_query("q", 20)
    with pytest.raises(EmbedderFailed) as refused:
        embedder.embed_query("q", 20)
    assert KEY not in str(refused.value)
    assert KEY not in repr(vars(embedder))


def test_o10_a_query_takes_no_longer_than_its_time(server: OpenAIServer) -> None:
    server.script = [Reply(delay=20)]
    with pytest.raises(EmbedderFailed, match=r"did not answer within 0\.05 s"):
        embedder_on(server).embed_query("q", 0.05)


def test_o10_passages_take_no_longer_than_the_setting(server: OpenAIServer) -> None:
    server.script = [Reply(delay=20)]
    with pytest.raises(EmbedderFailed, match=r"did not answer within 0\.05 s"):
        embedder_on(server, timeout=0.05).embed_passages(TEXTS)
