"""What every reranker does: the fake, and each adapter on a server or model that works."""

from collections.abc import Callable

import pytest

from local.artifacts import model_files
from shared.errors import RerankerFailed
from shared.models.rerank_local import MODEL, LocalReranker
from shared.ports import Reranker
from tests.fakes.reranker import FakeReranker

QUERY = "When are refunds paid?"
PASSAGES = [
    "The kettle boils the water.",
    "Refunds are paid within ten days of the return.",
    "The engine of the aircraft lost thrust during the climb.",
    "A café opens at seven.",
]


def make_fake(_request: pytest.FixtureRequest) -> Reranker:
    return FakeReranker()


def make_local(_request: pytest.FixtureRequest) -> Reranker:
    return LocalReranker(model_files(MODEL).model.parent)


@pytest.fixture(
    params=[make_fake, make_local], ids=lambda make: make.__name__.removeprefix("make_")
)
def reranker(request: pytest.FixtureRequest) -> Reranker:
    make: Callable[[pytest.FixtureRequest], Reranker] = request.param
    return make(request)


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
    count = min(100, reranker.most_passages)
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


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_without_time_nothing_is_asked(reranker: Reranker, timeout: float) -> None:
    with pytest.raises(RerankerFailed, match="no time was left"):
        reranker.rerank(QUERY, PASSAGES, timeout)
