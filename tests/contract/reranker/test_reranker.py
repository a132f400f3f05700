"""What every reranker does: the fake, and each adapter on a server or model that works."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from local.artifacts import model_files
from shared.errors import RerankerFailed
from shared.model import Image
from shared.models.bedrock_client import BedrockClient
from shared.models.rerank_bedrock import MODELS, SERVICE, BedrockReranker
from shared.models.rerank_cohere_compatible import (
    CohereCompatibleImageReranker,
    CohereCompatibleReranker,
)
from shared.models.rerank_local import MODEL, LocalReranker
from shared.models.rerank_tei import TeiReranker
from shared.models.transport import Transport
from shared.ports import ImageReranker, Reranker
from tests.fakes.reranker import FakeImageReranker, FakeReranker
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.rerank import BedrockRerankServer, CohereServer, TeiServer

QUERY = "When are refunds paid?"
PASSAGES = [
    "The kettle boils the water.",
    "Refunds are paid within ten days of the return.",
    "The engine of the aircraft lost thrust during the climb.",
    "A café opens at seven.",
]
KEY = SecretStr("sk-secret")


def make_fake() -> Iterator[Reranker]:
    yield FakeReranker()


def make_fake_image() -> Iterator[Reranker]:
    yield FakeImageReranker()


def make_local() -> Iterator[Reranker]:
    yield LocalReranker(model_files(MODEL).model.parent)


def make_transport() -> Transport:
    return Transport(4, failure=RerankerFailed, model="the reranking model")


def make_cohere() -> Iterator[Reranker]:
    with CohereServer().running() as server:
        url = f"{server.url}/v1"
        yield CohereCompatibleReranker("any", make_transport(), base_url=url, find_key=lambda: KEY)


def make_jina_image() -> Iterator[Reranker]:
    with CohereServer().running() as server:
        url = f"{server.url}/v1/"
        yield CohereCompatibleImageReranker(
            "any", make_transport(), base_url=url, find_key=lambda: KEY
        )


def make_tei() -> Iterator[Reranker]:
    with TeiServer().running() as server:
        yield TeiReranker("any", make_transport(), base_url=server.url, find_key=lambda: None)


def make_narrow_tei() -> Iterator[Reranker]:
    with TeiServer(most=5).running() as server:
        yield TeiReranker("any", make_transport(), base_url=server.url, find_key=lambda: None)


def make_bedrock() -> Iterator[Reranker]:
    with BedrockRerankServer().running() as server:
        client = BedrockClient(SERVICE, make_transport(), server.url)
        yield BedrockReranker(MODELS[0], lambda: client)


def make_paging_bedrock() -> Iterator[Reranker]:
    with BedrockRerankServer(page=3).running() as server:
        client = BedrockClient(SERVICE, make_transport(), server.url)
        yield BedrockReranker(MODELS[1], lambda: client)


MAKERS = [
    make_fake,
    make_fake_image,
    make_local,
    make_cohere,
    make_jina_image,
    make_tei,
    make_narrow_tei,
    make_bedrock,
    make_paging_bedrock,
]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__.removeprefix("make_"), scope="module")
def reranker(request: pytest.FixtureRequest) -> Iterator[Reranker]:
    make: Callable[[], Iterator[Reranker]] = request.param
    with pytest.MonkeyPatch.context() as patch:
        for name, value in AWS_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield from make()


def test_the_passage_that_answers_has_the_best_score(reranker: Reranker) -> None:
    scores = list(reranker.rerank(QUERY, PASSAGES, 30))
    assert len(scores) == len(PASSAGES)
    assert all(0 <= score <= 1 for score in scores)
    assert scores.index(max(scores)) == 1


def test_scores_stand_in_the_order_of_the_passages(reranker: Reranker) -> None:
    forwards = list(reranker.rerank(QUERY, PASSAGES, 30))
    backwards = list(reranker.rerank(QUERY, PASSAGES[::-1], 30))
    assert backwards == forwards[::-1]


def test_a_passage_that_stands_there_twice_is_scored_twice(reranker: Reranker) -> None:
    first, other, again = reranker.rerank(QUERY, [PASSAGES[1], PASSAGES[0], PASSAGES[1]], 30)
    assert first == again > other


def test_as_many_passages_as_it_takes_are_scored(reranker: Reranker) -> None:
    count = min(200, reranker.most_passages)
    passages = [f"Refund number {n}." for n in range(count - 1)] + [PASSAGES[1]]
    scores = list(reranker.rerank(QUERY, passages, 60))
    assert len(scores) == count
    assert max(scores) == scores[-1]


def test_very_long_texts_are_scored_by_their_beginning(reranker: Reranker) -> None:
    long = PASSAGES[1] + " It is so." * 10_000
    scores = list(reranker.rerank(QUERY, [PASSAGES[0], long], 60))
    assert scores[1] > scores[0]
    assert len(reranker.rerank("refunds paid? " * 1_400, PASSAGES, 60)) == len(PASSAGES)


def test_h01_no_passages_have_no_scores(reranker: Reranker) -> None:
    assert list(reranker.rerank(QUERY, [], 30)) == []
    if isinstance(reranker, ImageReranker):
        assert list(reranker.rerank_image(Image("image/png", b"x"), QUERY, [], 30)) == []


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_without_time_nothing_is_asked(reranker: Reranker, timeout: float) -> None:
    with pytest.raises(RerankerFailed, match="no time was left"):
        reranker.rerank(QUERY, PASSAGES, timeout)


@pytest.mark.parametrize(("text", "best"), [("", 3), ("refunds paid within ten days", 1)])
def test_an_image_is_a_query_with_text_or_without(reranker: Reranker, text: str, best: int) -> None:
    if not isinstance(reranker, ImageReranker):
        assert not hasattr(reranker, "rerank_image")
        return
    image = Image("image/png", b"cafe seven opens")  # the stand-ins read a picture's bytes as words
    scores = list(reranker.rerank_image(image, text, PASSAGES, 30))
    assert all(0 <= score <= 1 for score in scores)
    assert scores.index(max(scores)) == best
    assert scores[3] > scores[0]
