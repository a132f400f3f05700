import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.fusion.deduplicate import deduplicate
from shared.fusion.rrf import rrf_scores
from shared.model import Candidate, Channel, Hit, Standing

RANKINGS = st.fixed_dictionaries(
    {channel: st.permutations("abcdefgh") for channel in (Channel.VECTOR, Channel.TEXT)}
)
WEIGHT = st.floats(0.001, 1000)
BOTH = {Channel.VECTOR: 1.0, Channel.TEXT: 1.0}


def list_hits(rankings: dict[Channel, list[str]]) -> list[Candidate]:
    return deduplicate({c: [Hit(id, None) for id in ids] for c, ids in rankings.items()})


def sum_naively(
    rankings: dict[Channel, list[str]], weights: dict[Channel, float], constant: int
) -> dict[str, float]:
    scores: dict[str, float] = {}
    for channel, ids in rankings.items():
        for rank, id in enumerate(ids, 1):
            scores[id] = scores.get(id, 0) + weights[channel] / (constant + rank)
    best = sum(weight / (constant + 1) for weight in weights.values())
    return {id: score / best for id, score in scores.items()}


@given(RANKINGS, st.integers(0, 8), st.integers(0, 8), WEIGHT, WEIGHT, st.integers(0, 100))
def test_agrees_with_the_sum_written_out(
    rankings: dict[Channel, list[str]], m: int, n: int, w_v: float, w_t: float, constant: int
) -> None:
    cut = {
        Channel.VECTOR: rankings[Channel.VECTOR][:m],
        Channel.TEXT: rankings[Channel.TEXT][:n],
    }
    weights = {Channel.VECTOR: w_v, Channel.TEXT: w_t}
    candidates = list_hits(cut)
    scores = rrf_scores(candidates, weights, constant)
    found = {c.chunk_id: score for c, score in zip(candidates, scores.tolist(), strict=True)}
    assert found == pytest.approx(sum_naively(cut, weights, constant))


def test_the_best_possible_is_one_and_a_missing_channel_adds_nothing() -> None:
    candidates = list_hits({Channel.VECTOR: ["x", "y"], Channel.TEXT: ["x"]})
    assert rrf_scores(candidates, BOTH, 60).tolist() == [1.0, pytest.approx(61 / 62 / 2)]


def test_a_channel_that_found_nothing_still_counts_in_the_best_possible() -> None:
    assert rrf_scores(list_hits({Channel.VECTOR: ["x"]}), BOTH, 60).tolist() == [0.5]


def test_e12_all_weight_on_one_channel_gives_its_order() -> None:
    candidates = list_hits({Channel.TEXT: ["c", "b", "a"], Channel.VECTOR: ["b", "a", "c"]})
    scores = rrf_scores(candidates, {Channel.VECTOR: 1, Channel.TEXT: 0}, 60)
    order = sorted(zip(scores.tolist(), candidates, strict=True), key=lambda pair: -pair[0])
    assert [candidate.chunk_id for _, candidate in order] == ["b", "a", "c"]


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_a_better_rank_is_a_better_score(first: int, second: int) -> None:
    pair = [Candidate(str(r), {Channel.TEXT: Standing(r, None)}) for r in (first, second)]
    a, b = rrf_scores(pair, BOTH, 60)
    assert (a > b, a == b) == (first < second, first == second)


def test_e10_no_candidates() -> None:
    assert rrf_scores([], BOTH, 60).shape == (0,)
