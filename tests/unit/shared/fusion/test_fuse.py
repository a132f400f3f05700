import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from statistics import mean, pvariance

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.fusion.deduplicate import deduplicate
from shared.fusion.fuse import Fused, FusionMethod, FusionPlan, KeywordScoring, fuse
from shared.fusion.rank import DropReason, cut, shown_score
from shared.fusion.weighted import Weights
from shared.model import Candidate, Channel, Hit, SearchMethod, Standing

WEIGHTED = FusionPlan(search_method=SearchMethod.HYBRID)
RRF = FusionPlan(search_method=SearchMethod.HYBRID, method=FusionMethod.RRF)
NONE = FusionPlan(search_method=SearchMethod.HYBRID, method=FusionMethod.NONE)
SEMANTIC = FusionPlan(search_method=SearchMethod.SEMANTIC)
FULL_TEXT = FusionPlan(search_method=SearchMethod.FULL_TEXT)
KEYWORD = FusionPlan(search_method=SearchMethod.KEYWORD)
APART = FusionPlan(search_method=SearchMethod.SEMANTIC, method=FusionMethod.RRF)
PLANS = [WEIGHTED, RRF, NONE, SEMANTIC, FULL_TEXT, KEYWORD, APART]


def plan(weights: tuple[float, float], threshold: float | None = None) -> FusionPlan:
    return FusionPlan(
        search_method=SearchMethod.HYBRID, weights=Weights(*weights), threshold=threshold
    )


def find(*cosines: float | None) -> list[Candidate]:
    """Candidates c0, c1, ... of the vector channel, with these cosines."""
    return [
        Candidate(f"c{i}", {Channel.VECTOR: Standing(i + 1, cosine)}, cosine)
        for i, cosine in enumerate(cosines)
    ]


def scores(fused: Fused) -> dict[str, float]:
    return {scored.chunk_id: scored.score for scored in fused.ranked}


def order(fused: Fused) -> list[str]:
    return [scored.chunk_id for scored in fused.ranked]


@st.composite
def found(draw: st.DrawFn) -> list[tuple[Candidate, float]]:
    """Candidates of a hybrid query in any order, each with its K."""
    ids = draw(st.lists(st.sampled_from("abcdefghij"), unique=True))
    by_text = set(draw(st.lists(st.sampled_from(ids)))) if ids else set()
    lists = {
        Channel.VECTOR: [Hit(id, draw(st.floats(-1, 1))) for id in ids if id not in by_text],
        Channel.TEXT: [
            Hit(id, draw(st.none() | st.floats(0, 40)), draw(st.none() | st.floats(-1, 1)))
            for id in reversed(ids)
        ],
    }
    return [(candidate, draw(st.floats(0, 1))) for candidate in deduplicate(lists)]


def fuse_pairs(pairs: Sequence[tuple[Candidate, float]], how: FusionPlan) -> Fused:
    return fuse([c for c, _ in pairs], how, np.array([k for _, k in pairs]))


def test_e01_the_threshold_is_on_the_fused_score() -> None:
    fused = fuse(find(0.30, 0.90), plan((0.5, 0.5), 0.5), np.array([1.0, 0.0]))
    assert scores(fused) == {"c0": pytest.approx(0.65)}
    (dropped,) = fused.dropped
    assert (dropped.chunk_id, dropped.reason) == ("c1", DropReason.THRESHOLD)
    assert dropped.explanation.final_score == pytest.approx(0.45)
    assert dropped.explanation.threshold == 0.5


def test_e03_the_threshold_itself_is_enough_for_every_method() -> None:
    assert order(fuse(find(0.4), plan((0.7, 0.3), 0.58), np.array([1.0]))) == ["c0"]
    for method in (SearchMethod.SEMANTIC, SearchMethod.FULL_TEXT, SearchMethod.KEYWORD):
        how = FusionPlan(search_method=method, threshold=0.5)
        assert order(fuse(find(0.5), how, np.array([0.5]))) == ["c0"]


def test_e05_the_vector_score_is_the_cosine_whatever_the_text_channel_says() -> None:
    lists = {Channel.VECTOR: [Hit("x", 0.4, 0.4)], Channel.TEXT: [Hit("x", 14.2, 0.4)]}
    candidates = deduplicate(lists)
    once = fuse(candidates, plan((0.7, 0.3)), np.array([1.0]))
    assert scores(once) == {"x": pytest.approx(0.58)}
    assert fuse(candidates, plan((0.7, 0.3)), np.array([1.0])) == once


def test_e06_fused_scores_stay_within_bounds() -> None:
    random = np.random.default_rng(6)
    for _ in range(200):
        cosines = random.uniform(-1, 1, 30)
        how = plan((float(random.uniform()), float(random.uniform())))
        fused = fuse(find(*cosines.tolist()), how, random.uniform(0, 1, 30))
        assert all(-1 <= score <= 1 for score in scores(fused).values())


@pytest.mark.parametrize("how", PLANS)
def test_e10_no_candidates(how: FusionPlan) -> None:
    assert fuse([], how, np.array([])) == Fused([], [])


def test_e10_one_channel_alone() -> None:
    assert order(fuse(find(0.2, 0.1), WEIGHTED, np.zeros(2))) == ["c0", "c1"]


def test_e11_an_unknown_figure_counts_nothing() -> None:
    fused = fuse(find(None, 0.5), WEIGHTED, np.array([1.0, math.nan]))
    assert scores(fused) == {"c0": pytest.approx(0.3), "c1": pytest.approx(0.35)}
    by_id = {scored.chunk_id: scored.explanation for scored in fused.ranked}
    assert by_id["c0"].vector_score is None


@pytest.mark.parametrize("method", [FusionMethod.WEIGHTED_SCORE, FusionMethod.RRF])
def test_e12_weights_change_the_order(method: FusionMethod) -> None:
    lists = {
        Channel.VECTOR: [Hit("a", 0.9), Hit("b", 0.1)],
        Channel.TEXT: [Hit("b", 14.2), Hit("a", 3.0)],
    }
    candidates, keyword = deduplicate(lists), np.array([0.0, 1.0])
    for weights, expected in ((Weights(1, 0), ["a", "b"]), (Weights(0, 1), ["b", "a"])):
        how = FusionPlan(search_method=SearchMethod.HYBRID, method=method, weights=weights)
        assert order(fuse(candidates, how, keyword)) == expected


@pytest.mark.parametrize("search_method", SearchMethod)
@pytest.mark.parametrize("method", FusionMethod)
def test_e13_no_score_below_the_threshold(
    search_method: SearchMethod, method: FusionMethod
) -> None:
    how = FusionPlan(search_method=search_method, method=method, threshold=0.5)
    fused = fuse(find(0.9, 0.6, 0.4, 0.0, None), how, np.array([0.9, 0.3, 0.6, 0.0, 0.0]))
    assert fused.ranked
    assert all(scored.score >= 0.5 for scored in fused.ranked)
    assert len(fused.ranked) + len(fused.dropped) == 5


def test_each_method_has_its_own_score() -> None:
    candidates, keyword = find(0.8, -0.2), np.array([0.1, 0.6])
    expected = {
        "weighted": (WEIGHTED, [0.59, 0.04]),
        "rrf": (RRF, [0.5, 61 / 62 / 2]),
        "none": (NONE, [0.8, -0.2]),
        "semantic": (SEMANTIC, [0.8, -0.2]),
        "semantic, of several models": (APART, [1, 61 / 62]),
        "full text": (FULL_TEXT, [0.1, 0.6]),
        "keyword": (KEYWORD, [0.1, 0.6]),
    }
    for name, (how, figures) in expected.items():
        by_id = scores(fuse(candidates, how, keyword))
        assert [by_id["c0"], by_id["c1"]] == pytest.approx(figures), name


def test_the_explanation_shows_what_made_the_score() -> None:
    (scored,) = fuse(find(0.4), plan((1.5, 0.5)), np.array([1.0])).ranked
    explanation = scored.explanation
    assert explanation.channels == {Channel.VECTOR: Standing(1, 0.4)}
    assert (explanation.vector_score, explanation.keyword_score) == (0.4, 1.0)
    assert explanation.weights == Weights(0.75, 0.25)
    assert explanation.final_score == scored.score
    assert fuse(find(0.4), SEMANTIC).ranked[0].explanation.keyword_score is None
    assert fuse(find(0.4), NONE).ranked[0].explanation.weights is None
    assert fuse(find(0.4), RRF).ranked[0].explanation.weights == Weights(0.5, 0.5)


@pytest.mark.parametrize("scoring", KeywordScoring)
def test_which_form_of_k_a_query_needs(scoring: KeywordScoring) -> None:
    def form(search_method: SearchMethod, method: FusionMethod) -> KeywordScoring | None:
        how = FusionPlan(search_method=search_method, method=method, keyword_scoring=scoring)
        return how.keyword_form

    for method in FusionMethod:
        assert form(SearchMethod.SEMANTIC, method) is None
        assert form(SearchMethod.FULL_TEXT, method) is KeywordScoring.BM25
        assert form(SearchMethod.KEYWORD, method) is scoring
        weighs = method is FusionMethod.WEIGHTED_SCORE
        assert form(SearchMethod.HYBRID, method) is (scoring if weighs else None)


def test_keyword_scores_are_not_forgotten() -> None:
    for how in (WEIGHTED, FULL_TEXT, KEYWORD):
        with pytest.raises(ValueError, match="keyword_scores"):
            fuse(find(0.4), how)


@pytest.mark.parametrize("how", PLANS)
@given(pairs=found(), data=st.data())
def test_candidates_in_any_order_give_one_order(
    how: FusionPlan, pairs: list[tuple[Candidate, float]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(pairs))
    assert fuse_pairs(shuffled, how) == fuse_pairs(pairs, how)


@pytest.mark.parametrize("how", PLANS)
@given(pairs=found())
def test_scores_are_finite_and_never_rise(
    how: FusionPlan, pairs: list[tuple[Candidate, float]]
) -> None:
    fused = fuse_pairs(pairs, how)
    assert len(fused.ranked) == len(pairs)
    final = [scored.score for scored in fused.ranked]
    assert all(map(math.isfinite, final))
    shown = list(map(shown_score, final))
    assert shown == sorted(shown, reverse=True)
    assert all(0 <= score <= 1 for score in shown)
    assert cut(fused.ranked, 3)[0] == cut(fused.ranked, 8)[0][:3]


WEIGHTS = st.tuples(st.floats(0, 10), st.floats(0, 10)).filter(any).map(lambda w: Weights(*w))
COSINES = st.floats(-1, 1).map(lambda cosine: round(cosine, 6))  # as the engine gives them
HITS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.none() | COSINES).map(lambda h: Hit(*h)))
HYBRIDS = st.builds(
    FusionPlan,
    search_method=st.just(SearchMethod.HYBRID),
    method=st.sampled_from(FusionMethod),
    weights=st.none() | WEIGHTS,
    keyword_scoring=st.sampled_from(KeywordScoring),
    rank_constant=st.integers(1, 100),
    threshold=st.none() | st.floats(-1, 1),
)
SHARES = st.floats(0, 1).map(lambda share: round(share, 9))
KEYWORD_SCORES = st.fixed_dictionaries(dict.fromkeys("abcdefgh", SHARES))


def weigh_naively(v: list[float], k: list[float], how: FusionPlan) -> tuple[float, float]:
    if how.weights:
        return how.weights.vector, how.weights.keyword
    if how.method is not FusionMethod.WEIGHTED_SCORE:
        return 1, 1
    if how.keyword_scoring is KeywordScoring.DIFY or len(v) <= 3:
        return 0.7, 0.3

    def separate(x: list[float]) -> float:
        return (mean(sorted(x)[-3:]) - mean(x)) / (pvariance(x) + 0.01**2)

    found = 0.7 * separate(v), 0.3 * separate(k)
    return found if any(found) else (0.7, 0.3)


def fuse_naively(
    vector: list[Hit], text: list[Hit], k: dict[str, float], how: FusionPlan
) -> list[tuple[str, float]]:
    rrf = dict.fromkeys((hit.chunk_id for hit in [*vector, *text]), 0.0)
    known = [(hit.chunk_id, hit.score) for hit in vector if hit.score is not None]
    v = {id: max((score for other, score in known if other == id), default=0.0) for id in rrf}
    w_v, w_k = weigh_naively([v[id] for id in rrf], [k[id] for id in rrf], how)
    for weight, hits in ((w_v, vector), (w_k, text)):
        for rank, id in enumerate(dict.fromkeys(hit.chunk_id for hit in hits), 1):
            rrf[id] += weight / (w_v + w_k) * (how.rank_constant + 1) / (how.rank_constant + rank)
    weighted = {id: (w_v * v[id] + w_k * k[id]) / (w_v + w_k) for id in rrf}
    scores = {"rrf": rrf, "weighted_score": weighted, "none": v}[how.method]
    kept = [id for id in rrf if how.threshold is None or scores[id] >= how.threshold - 1e-9]
    return [(id, scores[id]) for id in sorted(kept, key=lambda id: (-scores[id], id))]


@given(HITS, HITS, KEYWORD_SCORES, HYBRIDS, st.integers(1, 8))
def test_agrees_with_the_rules_written_out(
    vector: list[Hit], text: list[Hit], k: dict[str, float], how: FusionPlan, top_k: int
) -> None:
    candidates = deduplicate({Channel.VECTOR: vector, Channel.TEXT: text})
    fused = fuse(candidates, how, np.array([k[c.chunk_id] for c in candidates]))
    every = fuse_naively(vector, text, k, replace(how, threshold=None))
    # Sums in another order may differ in their last digit.
    assume(how.threshold is None or all(abs(s - how.threshold) > 1e-6 for _, s in every))
    expected = fuse_naively(vector, text, k, how)
    found = scores(Fused(cut(fused.ranked, top_k)[0], []))
    assert list(found.values()) == pytest.approx([score for _, score in expected[:top_k]])
    assert found == pytest.approx({id: dict(expected)[id] for id in found})


@given(HITS, HITS, KEYWORD_SCORES, HYBRIDS)
def test_it_does_not_matter_which_channel_answers_first(
    vector: list[Hit], text: list[Hit], k: dict[str, float], how: FusionPlan
) -> None:
    both = {Channel.VECTOR: vector, Channel.TEXT: text}
    orders = [deduplicate(lists) for lists in (both, dict(reversed(both.items())))]
    one, other = (fuse(each, how, np.array([k[c.chunk_id] for c in each])) for each in orders)
    assert one == other


SIDES = {Channel.VECTOR: 0, Channel.TEXT: 1}  # which of V and K a channel's weight is for
PAIR = st.tuples(*[st.tuples(st.floats(-1, 1), st.floats(0, 1))] * 2)


@given(
    st.sampled_from([FusionMethod.WEIGHTED_SCORE, FusionMethod.RRF]),
    st.sampled_from(list(SIDES)),
    st.fixed_dictionaries(dict.fromkeys(SIDES, st.sampled_from(["ab", "ba", "a", "b"]))),
    PAIR,
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_more_weight_never_turns_against_who_leads_in_that_component(
    method: FusionMethod,
    channel: Channel,
    lists: dict[Channel, str],
    pair: tuple[tuple[float, float], tuple[float, float]],
    shares: tuple[float, float],
) -> None:
    candidates = [
        Candidate(id, {c: Standing(o.index(id) + 1, None) for c, o in lists.items() if id in o}, v)
        for id, (v, _) in zip("ab", pair, strict=True)
    ]
    side = SIDES[channel]
    by_rank, by_score = lists[channel][0] == "a", pair[0][side] > pair[1][side]
    leads = by_rank if method is FusionMethod.RRF else by_score

    def lead(share: float) -> float:
        weights = Weights(*((share, 1 - share) if side == 0 else (1 - share, share)))
        how = FusionPlan(search_method=SearchMethod.HYBRID, method=method, weights=weights)
        final = scores(fuse(candidates, how, np.array([k for _, k in pair])))
        return (final["a"] - final["b"]) * (1 if leads else -1)

    before, after = map(lead, sorted(shares))
    assert before < 0 or after >= -1e-12


def test_e18_ties_go_by_id_in_any_order_of_ingest() -> None:
    twins = find(*[0.5] * 5)
    for shuffled in permutations(twins):
        fused = fuse(shuffled, WEIGHTED, np.full(5, 0.25))
        assert order(fused) == ["c0", "c1", "c2", "c3", "c4"]


TWENTY_TWINS = """
import numpy as np
from shared.analysis.analyzer import keywords
from shared.fusion.deduplicate import deduplicate
from shared.fusion.fuse import FusionPlan, fuse
from shared.fusion.keywords import dify_keywords, dify_scores, pack_keywords
from shared.model import Channel, Hit, SearchMethod

texts = ["API limits 知识库检索配置说明 v2.5"] * 20
texts += ["release notes v2.5 保险理赔流程", "数据库备份 limits"]
hits = [Hit(f"chunk-{i * 7 % 22:02}", 0.5) for i in range(22)]
candidates = deduplicate({Channel.VECTOR: hits, Channel.TEXT: hits[::-1]})
stored = [pack_keywords(dify_keywords(text)) for text in texts]
scores = dify_scores(dify_keywords("v2.5 limits 知识库检索 理赔 备份"), stored)
fused = fuse(candidates, FusionPlan(search_method=SearchMethod.HYBRID), scores)
print([(scored.chunk_id, scored.score.hex()) for scored in fused.ranked])
print(keywords(texts[0]), stored[0])
"""


def test_e18_the_same_order_in_every_process() -> None:
    answers = {run_with_hash_seed(seed) for seed in range(5)}
    assert len(answers) == 1
    assert answers.pop().count("chunk-") == 22


def run_with_hash_seed(seed: int) -> str:
    run = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", TWENTY_TWINS],
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return run.stdout
