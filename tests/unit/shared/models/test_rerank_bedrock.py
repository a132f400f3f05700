from collections.abc import Iterator

import pytest

from shared.errors import RerankerFailed
from shared.models.bedrock_client import BedrockClient
from shared.models.rerank_bedrock import MODELS, SERVICE, BedrockReranker
from shared.models.transport import Transport
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.rerank import BedrockRerankServer
from tests.servers.server import Reply

PASSAGES = ["refund policy", "shipping times", "refund"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BedrockRerankServer]:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    server = BedrockRerankServer(page=2)
    with server.running():
        yield server


def ask(server: BedrockRerankServer, model: str = MODELS[0]) -> BedrockReranker:
    transport = Transport(4, failure=RerankerFailed)
    client = BedrockClient(SERVICE, transport, server.url)
    return BedrockReranker(model, lambda: client)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_sent(server: BedrockRerankServer, model: str) -> None:
    server.page = 1_000
    ask(server, model).rerank("refund", PASSAGES, 20)
    (request,) = server.requests
    assert request.path == "/rerank"
    assert "/us-east-1/bedrock/aws4_request" in request.headers["Authorization"]
    arn = f"arn:aws:bedrock:us-east-1::foundation-model/{model}"
    source = {"type": "TEXT", "textDocument": {"text": "shipping times"}}
    assert request.body["queries"] == [{"type": "TEXT", "textQuery": {"text": "refund"}}]
    assert request.body["sources"][1] == {"type": "INLINE", "inlineDocumentSource": source}
    assert request.body["rerankingConfiguration"] == {
        "type": "BEDROCK_RERANKING_MODEL",
        "bedrockRerankingConfiguration": {
            "numberOfResults": 3,
            "modelConfiguration": {"modelArn": arn},
        },
    }


@pytest.mark.parametrize(
    ("region", "partition"), [("eu-central-1", "aws"), ("us-gov-west-1", "aws-us-gov")]
)
def test_the_model_is_that_of_the_region(
    server: BedrockRerankServer, monkeypatch: pytest.MonkeyPatch, region: str, partition: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    with pytest.raises(RerankerFailed, match="is not supported"):
        ask(server).rerank("refund", PASSAGES, 20)
    arn = f"arn:{partition}:bedrock:{region}::foundation-model/{MODELS[0]}"
    assert arn in str(server.requests[0].body)


def test_an_answer_in_pages_is_read_to_its_end(server: BedrockRerankServer) -> None:
    assert list(ask(server).rerank("refund policy", PASSAGES, 20)) == [1.0, 0.0, 0.5]
    assert [request.body.get("nextToken") for request in server.requests] == [None, "2"]


@pytest.mark.parametrize("results", [[], [{"index": 0, "relevanceScore": 0.5}]])
def test_pages_that_lead_nowhere_come_to_an_end(
    server: BedrockRerankServer, results: list[object]
) -> None:
    server.script = [Reply({"results": results, "nextToken": "again"})] * 5
    with pytest.raises(RerankerFailed, match="gave"):
        ask(server).rerank("refund", PASSAGES, 20)
    assert len(server.requests) <= len(PASSAGES)


def test_the_time_is_that_of_all_pages(server: BedrockRerankServer) -> None:
    page = {"results": [{"index": 0, "relevanceScore": 0.5}], "nextToken": "1"}
    server.script = [Reply(page), Reply({}, delay=30)]
    with pytest.raises(RerankerFailed, match="did not answer"):
        ask(server).rerank("refund", PASSAGES, 1.5)


def test_texts_are_cut_to_what_it_takes(server: BedrockRerankServer) -> None:
    ask(server).rerank("q", ["a" * 40_000], 20)
    assert "a" * 32_000 in str(server.requests[0].body["sources"])
    assert "a" * 32_001 not in str(server.requests[0].body["sources"])


@pytest.mark.parametrize(
    ("query", "sent"), [("q" * 20_000, "q" * 9_000), ("a" + "𠮷" * 9_000, "a" + "𠮷" * 4_499)]
)
def test_a_query_is_cut_to_the_utf_16_that_it_takes(
    server: BedrockRerankServer, query: str, sent: str
) -> None:
    ask(server).rerank(query, PASSAGES, 20)
    assert server.requests[0].body["queries"][0]["textQuery"]["text"] == sent
