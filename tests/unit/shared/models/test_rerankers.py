"""Rerankers on servers that answer well or badly, and which of them a request gets."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from pydantic import SecretStr

from local.artifacts import model_files
from shared.errors import InvalidRequest, RerankerFailed
from shared.model import NO_VECTORS, EmbeddingSpace
from shared.models.bedrock_client import BedrockClient
from shared.models.rerank_bedrock import MODELS, SERVICE, BedrockReranker
from shared.models.rerank_cohere_compatible import CohereCompatibleReranker
from shared.models.rerank_local import MODEL, LocalReranker
from shared.models.rerank_tei import TeiReranker
from shared.models.rerankers import (
    PROVIDERS,
    check_default,
    list_rerankers,
    make_reranker,
)
from shared.models.transport import Transport
from shared.ports import ImageReranker, Reranker
from tests.fakes.settings import make_settings
from tests.servers import bedrock
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.rerank import BedrockRerankServer, CohereServer, TeiServer
from tests.servers.server import ModelServer, Reply
from tests.servers.silence import silent_server

PASSAGES = ["refund policy", "shipping times", "annual plans"]
SCORES = [1.0, 0.0, 0.0]
KEY = SecretStr("sk-secret")
POINTER = "/fusion/reranking_model"


@pytest.fixture(autouse=True)
def _aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def transport() -> Transport:
    return Transport(4, failure=RerankerFailed, model="the reranking model")


def ask_cohere(url: str) -> Reranker:
    return CohereCompatibleReranker("any", transport(), base_url=f"{url}/v1/", find_key=lambda: KEY)


def ask_tei(url: str) -> Reranker:
    return TeiReranker("any", transport(), base_url=f"{url}/", find_key=lambda: KEY)


def ask_bedrock(url: str) -> Reranker:
    client = BedrockClient(SERVICE, transport(), url)
    return BedrockReranker(MODELS[0], lambda: client)


SERVERS: dict[str, tuple[Callable[[], ModelServer], Callable[[str], Reranker]]] = {
    "cohere": (CohereServer, ask_cohere),
    "tei": (TeiServer, ask_tei),
    "bedrock": (BedrockRerankServer, ask_bedrock),
}


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest) -> Iterator[tuple[ModelServer, Reranker]]:
    """A server that works until told otherwise, and the adapter that asks it."""
    make, ask = SERVERS[request.param]
    with ExitStack() as stack:
        server = stack.enter_context(make().running())
        yield server, ask(server.url)


type Served = tuple[ModelServer, Reranker]


def write(server: ModelServer, *scores: tuple[Any, Any]) -> Any:
    """Returns these (index, score) in the server's own form."""
    if isinstance(server, TeiServer):
        return [{"index": index, "score": score} for index, score in scores]
    key = "relevanceScore" if isinstance(server, BedrockRerankServer) else "relevance_score"
    return {"results": [{"index": index, key: score} for index, score in scores]}


GOOD = [(2, 0.5), (0, 0.9), (1, 0.1)]


def test_scores_are_read_by_index_in_whatever_order_they_come(served: Served) -> None:
    server, reranker = served
    server.script = [Reply(write(server, *GOOD))]
    assert list(reranker.rerank("refund", PASSAGES, 20)) == [0.9, 0.1, 0.5]


FAULTS: dict[str, list[tuple[Any, Any]]] = {
    "short": GOOD[:2],
    "empty": [],
    "long": [*GOOD, (3, 0.5)],
    "repeated index": [(0, 0.9), (1, 0.1), (1, 0.5)],
    "repeated beside all": [*GOOD, (0, 0.9)],
    "index out of range": [(0, 0.9), (1, 0.1), (3, 0.5)],
    "negative index": [(0, 0.9), (1, 0.1), (-1, 0.5)],
    "no index": [(0, 0.9), (1, 0.1), (None, 0.5)],
    "null": [(0, 0.9), (1, 0.1), (2, None)],
    "words": [(0, 0.9), (1, 0.1), (2, "high")],
    "list": [(0, 0.9), (1, 0.1), (2, [0.5])],
    "NaN": [(0, 0.9), (1, 0.1), (2, float("nan"))],
    "infinite": [(0, 0.9), (1, 0.1), (2, float("inf"))],
    "logits": [(0, 7.7), (1, -4.2), (2, 0.5)],
}


MISTYPED: dict[str, list[tuple[Any, Any]]] = {
    "index that is text": [(0, 0.9), (1, 0.1), ("2", 0.5)],
    "index that is true": [(0, 0.9), (2, 0.1), (True, 0.5)],
    "score that is text": [(0, 0.9), (1, 0.1), (2, "0.5")],
    "score that is true": [(0, 0.9), (1, 0.1), (2, True)],
}


@pytest.mark.parametrize("scores", FAULTS.values(), ids=FAULTS)
def test_h03_an_answer_that_scores_not_each_passage_once_is_a_failure(
    served: Served, scores: list[tuple[Any, Any]]
) -> None:
    server, reranker = served
    server.script = [Reply(write(server, *scores))]
    with pytest.raises(RerankerFailed, match=r"gave"):
        reranker.rerank("refund", PASSAGES, 20)
    assert list(reranker.rerank("refund", PASSAGES, 20)) == SCORES


@pytest.mark.parametrize("served", ["cohere", "tei"], indirect=True)
@pytest.mark.parametrize("scores", MISTYPED.values(), ids=MISTYPED)
def test_h03_no_type_is_converted_but_by_a_vendors_own_client(
    served: Served, scores: list[tuple[Any, Any]]
) -> None:
    server, reranker = served
    server.script = [Reply(write(server, *scores))]
    with pytest.raises(RerankerFailed, match=r"gave"):
        reranker.rerank("refund", PASSAGES, 20)


@pytest.mark.parametrize(
    "broken",
    [
        Reply(b"<html>504 Gateway Timeout</html>"),
        Reply(b""),
        Reply(b'{"results": [{"index": 0, "relev'),
        Reply(b"[" * 100_000),
        Reply([]),
        Reply({}),
        Reply(None),
        Reply({"results": None}),
        Reply({"results": "many"}),
        Reply({"results": [None, None, None]}),
        Reply([None, None, None]),
        Reply([0.9, 0.1, 0.5]),
        Reply(hang_up=True),
    ],
    ids=lambda broken: repr(broken)[:60],
)
def test_h03_a_broken_answer_is_a_failure_of_the_reranker(served: Served, broken: Reply) -> None:
    server, reranker = served
    server.script = [broken, broken]  # a connection that hung up is tried once more
    with pytest.raises(RerankerFailed):
        reranker.rerank("refund", PASSAGES, 20)
    server.script = []
    assert list(reranker.rerank("refund", PASSAGES, 20)) == SCORES


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 424, 429, 500, 502, 503])
def test_h03_a_refusal_is_told_without_credentials_and_not_asked_again(
    served: Served, status: int
) -> None:
    server, reranker = served
    words = "key sk-123 is wrong"
    refusals = {
        CohereServer: Reply({"message": words}, status=status),
        TeiServer: Reply({"error": words, "error_type": "x"}, status=status),
        BedrockRerankServer: bedrock.refuse("SomeException", status, words),
    }
    server.script = [refusals[type(server)]]
    with pytest.raises(RerankerFailed, match=str(status)) as failed:
        reranker.rerank("refund", PASSAGES, 20)
    assert len(server.requests) == 1
    assert ("sk-123" in str(failed.value)) == (status in {400, 422})


def test_h03_a_slow_model_is_given_up(served: Served) -> None:
    server, reranker = served
    server.script = [Reply({}, delay=30)]
    with pytest.raises(RerankerFailed, match=r"the reranking model did not answer within 0\.[23]"):
        reranker.rerank("refund", PASSAGES, 0.3)


@pytest.mark.parametrize("make", [ask_cohere, ask_tei, ask_bedrock])
def test_o10_a_silent_server_is_given_up(make: Callable[[str], Reranker]) -> None:
    with silent_server() as url, pytest.raises(RerankerFailed, match="did not answer"):
        make(url).rerank("refund", PASSAGES, 0.3)


@pytest.mark.parametrize("make", [ask_cohere, ask_tei, ask_bedrock])
def test_no_server_is_a_failure_that_names_no_host(make: Callable[[str], Reranker]) -> None:
    with pytest.raises(RerankerFailed) as failed:
        make("http://127.0.0.1:9").rerank("refund", PASSAGES, 5)
    assert str(failed.value) == "the reranking model can't be reached"


def test_a_redirect_is_not_followed(served: Served) -> None:
    server, reranker = served
    server.script = [Reply({}, status=307, headers={"Location": f"{server.url}/elsewhere"})]
    with pytest.raises(RerankerFailed):
        reranker.rerank("refund", PASSAGES, 5)
    assert len(server.requests) == 1


def test_one_reranker_serves_many_calls_on_kept_connections(served: Served) -> None:
    server, reranker = served
    for _ in range(5):
        reranker.rerank("refund", PASSAGES, 20)
    assert server.connections == 1


def test_each_provider_has_its_reranker() -> None:
    models = model_files(MODEL).model.parent.parent
    ours = make_settings(
        cohere_base_url="http://a/v1", tei_base_url="http://b", local_models=models
    )
    named = {"bedrock": MODELS[1], "cohere_compatible": "any", "tei": "any", "local": MODEL}
    made = {provider: make_reranker(provider, model, ours) for provider, model in named.items()}
    assert {provider: type(each) for provider, each in made.items()} == {
        "bedrock": BedrockReranker,
        "cohere_compatible": CohereCompatibleReranker,
        "tei": TeiReranker,
        "local": LocalReranker,
    }
    assert named.keys() == set(PROVIDERS) == list_rerankers(ours)
    for provider, model in named.items():
        assert make_reranker(provider, model, ours) is made[provider]


@pytest.mark.parametrize("model", ["jina-reranker-m0", "jinaai/jina-reranker-m0"])
def test_a_model_that_is_known_to_read_images_does(model: str) -> None:
    ours = make_settings(cohere_base_url="http://a/v1")
    assert isinstance(make_reranker("cohere_compatible", model, ours), ImageReranker)
    assert not isinstance(make_reranker("cohere_compatible", f"{model}-2", ours), ImageReranker)


def test_who_names_none_gets_that_of_the_settings() -> None:
    ours = make_settings(
        reranking_provider="tei", reranking_model="any", tei_base_url="http://127.0.0.1:9"
    )
    assert make_reranker(None, None, ours) is make_reranker("tei", "any", ours)
    assert make_reranker("tei", "other", ours) is not make_reranker(None, None, ours)


@pytest.mark.parametrize(
    ("provider", "model", "pointer", "says"),
    [
        (None, None, "", "WINNOW_RERANKING_MODEL"),
        ("elsewhere", "m", "/provider", "none of bedrock, cohere_compatible, tei, local"),
        ("bedrock", "cohere.rerank-v9:0", "/model", "none of cohere.rerank-v3-5:0, amazon"),
        ("local", "other", "/model", f"none of {MODEL}"),
        ("cohere_compatible", "m", "/provider", "not set up here"),
        ("tei", "m", "/provider", "not set up here"),
        ("local", MODEL, "/provider", "not set up here"),
    ],
)
def test_what_there_is_not_is_refused_at_its_place(
    tmp_path: Path, provider: str | None, model: str | None, pointer: str, says: str
) -> None:
    ours = make_settings(local_models=tmp_path)  # without the model's files
    with pytest.raises(InvalidRequest, match=says) as refused:
        make_reranker(provider, model, ours)
    assert [each.pointer for each in refused.value.problems] == [POINTER + pointer]


def test_the_local_model_is_no_default_of_a_chinese_dataset() -> None:
    models = model_files(MODEL).model.parent.parent
    ours = make_settings(local_models=models, reranking_provider="local", reranking_model=MODEL)
    chinese = EmbeddingSpace("local", "bge-small-zh-v1.5", 512)
    both: list[tuple[str | None, str | None]] = [("local", MODEL), (None, None)]
    for named in both:
        with pytest.raises(InvalidRequest, match="reads English alone") as refused:
            check_default(ours, *named, chinese, "/retrieval")
        assert refused.value.problems[0].pointer == "/retrieval"
        english = EmbeddingSpace("local", "bge-small-en-v1.5", 384)
        for space in (english, NO_VECTORS, None):
            check_default(ours, *named, space, "/retrieval")
    check_default(ours, "bedrock", MODELS[0], chinese, "/retrieval")


def test_the_key_may_be_a_secret_that_is_read_at_the_first_call_and_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_arguments: str) -> dict[str, str]:
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    client = SimpleNamespace(get_secret_value=fail)
    monkeypatch.setattr(boto3, "client", lambda _service, **_: client)
    with CohereServer().running() as server:
        ours = make_settings(
            cohere_base_url=f"{server.url}/v1", cohere_api_key_secret="arn:the-key"
        )
        reranker = make_reranker("cohere_compatible", "m", ours)
        with pytest.raises(RerankerFailed) as failed:
            reranker.rerank("refund", PASSAGES, 5)
        assert "nowhere" not in str(failed.value)
        client.get_secret_value = lambda SecretId: {"SecretString": f"key of {SecretId}"}  # noqa: N803
        assert list(reranker.rerank("refund", PASSAGES, 5)) == SCORES
        client.get_secret_value = fail
        assert list(reranker.rerank("refund", PASSAGES, 5)) == SCORES
    keys = [request.headers["Authorization"] for request in server.requests]
    assert keys == ["Bearer key of arn:the-key"] * 2
