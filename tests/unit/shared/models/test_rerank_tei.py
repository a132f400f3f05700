from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from shared.errors import RerankerFailed
from shared.models.rerank_tei import TeiReranker
from shared.models.transport import Transport
from tests.servers.rerank import TeiServer
from tests.servers.server import Reply


@pytest.fixture
def server() -> Iterator[TeiServer]:
    server = TeiServer()
    with server.running():
        yield server


def ask(server: TeiServer, key: str | None = None) -> TeiReranker:
    return TeiReranker(
        "any",
        Transport(4, failure=RerankerFailed),
        base_url=server.url,
        find_key=lambda: SecretStr(key) if key else None,
    )


def sizes(server: TeiServer) -> list[int]:
    return sorted(len(request.body["texts"]) for request in server.requests)


def test_what_is_sent(server: TeiServer) -> None:
    ask(server).rerank("refund", ["refund policy", "shipping"], 20)
    ask(server, key="hf-secret").rerank("refund", ["x" * 20_000], 20)
    first, second = server.requests
    assert first.body == {
        "query": "refund",
        "texts": ["refund policy", "shipping"],
        "raw_scores": False,
        "return_text": False,
        "truncate": True,
    }
    assert "Authorization" not in first.headers
    assert second.headers["Authorization"] == "Bearer hf-secret"
    assert second.body["texts"] == ["x" * 16_000]


def test_scores_are_those_after_the_logistic_function(server: TeiServer) -> None:
    # Asked for raw ones, the server gives logits, of which -5 is none.
    assert list(ask(server).rerank("refund policy", ["refund", "shipping"], 20)) == [0.5, 0.0]


def test_many_passages_go_in_requests_of_32(server: TeiServer) -> None:
    passages = [f"refund {n}" for n in range(100)]
    assert len(ask(server).rerank("refund 99", passages, 20)) == 100
    assert sizes(server) == [4, 32, 32, 32]


def test_a_server_that_takes_fewer_gets_fewer_from_then_on(server: TeiServer) -> None:
    server.most = 10
    reranker = ask(server)
    passages = [f"refund {n}" for n in range(32)]
    scores = reranker.rerank("refund 31", passages, 20)
    assert list(scores) == [0.5] * 31 + [1.0]
    assert sizes(server) == [8, 8, 8, 8, 16, 16, 32]
    server.requests.clear()
    assert reranker.rerank("refund 31", passages, 20) == scores
    assert sizes(server) == [8, 8, 8, 8]


def test_a_server_that_takes_not_one_passage_is_given_up(server: TeiServer) -> None:
    server.most = 0
    with pytest.raises(RerankerFailed, match=r"answered 413.*batch size 1 >"):
        ask(server).rerank("refund", ["refund", "shipping"], 20)


def test_an_overloaded_server_fails_the_whole(server: TeiServer) -> None:
    overloaded = {"error": "Model is overloaded", "error_type": "overloaded"}
    server.script = [Reply(overloaded, status=429)]
    with pytest.raises(RerankerFailed, match="429: its rate limit is reached"):
        ask(server).rerank("refund", [f"refund {n}" for n in range(100)], 20)
