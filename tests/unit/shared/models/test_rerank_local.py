"""The real model: what it says of texts is known well enough to be held to."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.artifacts import model_files
from shared.errors import ConfigurationError, RerankerFailed
from shared.models import rerank_local
from shared.models.onnx import OnnxModel
from shared.models.rerank_local import MODEL, MOST_PASSAGES, LocalReranker, reads

BERLIN = "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 km2."
MUSEUM = "New York City is famous for the Metropolitan Museum of Art."
REFUND = "Refunds are paid within ten days after we receive the returned goods."
TURBINE = "The turbine blades are cooled by air bled from the compressor."


@pytest.fixture(scope="module")
def local() -> LocalReranker:
    return LocalReranker(model_files(MODEL).model.parent)


# Figures of these very weights; pairs in the other order, or no token types, miss them.
def test_the_passage_that_answers_is_scored_far_above_others(local: LocalReranker) -> None:
    scores = local.rerank("How many people live in Berlin?", [MUSEUM, BERLIN], 30)
    assert scores == pytest.approx([1.4e-5, 0.9999], abs=1e-4)
    scores = local.rerank("how long until I get my money back", [REFUND, TURBINE], 30)
    assert scores == pytest.approx([0.813, 1.3e-5], abs=0.02)


def test_scores_repeat_bit_for_bit_whatever_is_scored_beside_them(local: LocalReranker) -> None:
    passages = [f"{REFUND} {n} {TURBINE}" * (n % 5 + 1) for n in range(8)]
    query = "how long until I get my money back"
    together = list(local.rerank(query, passages, 60))
    alone = [local.rerank(query, [each], 60)[0] for each in passages]
    with ThreadPoolExecutor(4) as callers:
        crowded = list(callers.map(lambda each: local.rerank(query, [each], 60)[0], passages))
    assert together == alone == crowded


def test_long_texts_are_read_from_their_beginning(local: LocalReranker) -> None:
    query = "How many people live in Berlin?"
    long = local.rerank(query, [BERLIN + " And so on." * 20_000, "And so on. " * 2_000], 60)
    assert long[0] > 0.9
    assert long[1] < 0.1
    assert 0 <= local.rerank("berlin " * 2_800, [BERLIN], 60)[0] <= 1


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("How many people live in Berlin?", True),
        ("Où est la bibliothèque?", True),
        ("error-404 (50 %)", True),
        ("404", True),
        ("", True),
        ("What does 退款 mean in the refund policy of a shop?", True),
        ("退款政策", False),
        ("API限流", False),
        ("iPhone 15 价格", False),
        ("天気予報", False),
        ("сколько людей", False),
    ],
)
def test_what_it_reads(text: str, readable: bool) -> None:
    assert reads(text) is readable


def test_a_query_in_another_script_is_refused_and_told_why(local: LocalReranker) -> None:
    with pytest.raises(RerankerFailed, match="reads English alone, and this query is"):
        local.rerank("多久能拿回钱", [REFUND], 30)


def test_passages_in_another_script_are_refused_where_they_are_most(local: LocalReranker) -> None:
    chinese, query = "我们收到退货后十天内退款。", "how long until I get my money back"
    with pytest.raises(RerankerFailed, match="reads English alone, and most passages are"):
        local.rerank(query, [chinese, chinese, REFUND], 30)
    assert len(local.rerank(query, [chinese, REFUND], 30)) == 2


def test_a_time_that_is_too_short_ends_it(local: LocalReranker) -> None:
    with pytest.raises(RerankerFailed, match="no time was left"):
        local.rerank("q", [REFUND * 40] * MOST_PASSAGES, 1e-3)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.onnx is missing"):
        LocalReranker(tmp_path).rerank("q", [REFUND], 30)


def test_callers_at_once_load_the_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Path] = []

    class Counted(OnnxModel):
        def __init__(self, folder: Path) -> None:
            loads.append(folder)
            super().__init__(folder)

    monkeypatch.setattr(rerank_local, "OnnxModel", Counted)
    reranker = LocalReranker(model_files(MODEL).model.parent)
    assert loads == []
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda _: reranker.rerank("q", [REFUND], 60), range(4)))
    assert len(loads) == 1
