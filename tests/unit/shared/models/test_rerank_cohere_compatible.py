import base64
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from shared.errors import RerankerFailed
from shared.model import Image
from shared.models.rerank_cohere_compatible import (
    CohereCompatibleImageReranker,
    CohereCompatibleReranker,
)
from shared.models.transport import Transport
from tests.servers.rerank import CohereServer, write_results
from tests.servers.server import Reply

PASSAGES = ["refund policy", "shipping times"]
PNG = Image("image/png", b"\x89PNG\r\n\x1a\n shipping")


@pytest.fixture
def server() -> Iterator[CohereServer]:
    server = CohereServer()
    with server.running():
        yield server


def ask(
    server: CohereServer, key: str | None = None, *, gives_logits: bool = False
) -> CohereCompatibleReranker:
    return CohereCompatibleReranker(
        "rerank-v3.5",
        Transport(4, failure=RerankerFailed),
        base_url=f"{server.url}/v1",
        find_key=lambda: SecretStr(key) if key else None,
        gives_logits=gives_logits,
    )


def ask_image(server: CohereServer) -> CohereCompatibleImageReranker:
    return CohereCompatibleImageReranker(
        "jina-reranker-m0",
        Transport(4, failure=RerankerFailed),
        base_url=f"{server.url}/v1",
        find_key=lambda: None,
    )


def test_what_is_sent(server: CohereServer) -> None:
    ask(server).rerank("refund", PASSAGES, 20)
    ask(server, key="co-secret").rerank("q" * 20_000, ["x" * 20_000], 20)
    first, second = server.requests
    assert first.body == {
        "model": "rerank-v3.5",
        "query": "refund",
        "documents": PASSAGES,
        "top_n": 2,
    }
    assert "Authorization" not in first.headers
    assert second.headers["Authorization"] == "Bearer co-secret"
    assert second.body["documents"] == ["x" * 16_000]
    assert second.body["query"] == "q" * 16_000


def test_a_server_that_is_known_to_give_logits_gives_logits(server: CohereServer) -> None:
    server.script = [Reply(write_results([7.7, -4.2])), Reply(write_results([7.7, -4.2]))]
    scores = ask(server, gives_logits=True).rerank("refund", PASSAGES, 20)
    assert list(scores) == pytest.approx([0.999547, 0.014774], abs=1e-6)
    with pytest.raises(RerankerFailed, match="outside 0 to 1"):
        ask(server).rerank("refund", PASSAGES, 20)


def test_an_image_is_sent_in_base64_and_passages_as_objects(server: CohereServer) -> None:
    assert list(ask_image(server).rerank_image(PNG, "", PASSAGES, 20)) == [0.0, 0.5]
    (request,) = server.requests
    assert request.body["query"] == {"image": base64.b64encode(PNG.data).decode()}
    assert request.body["documents"] == [{"text": passage} for passage in PASSAGES]


def test_an_image_with_text_scores_the_mean_of_both(server: CohereServer) -> None:
    assert list(ask_image(server).rerank_image(PNG, "refund", PASSAGES, 20)) == [0.5, 0.25]
    assert [type(request.body["query"]) for request in server.requests] == [dict, str]


def test_of_both_each_must_be_whole_and_in_time(server: CohereServer) -> None:
    for reply in (Reply(write_results([0.5])), Reply({}, delay=30)):
        server.script = [server.answer, reply]
        with pytest.raises(RerankerFailed):
            ask_image(server).rerank_image(PNG, "refund", PASSAGES, 1.0)
