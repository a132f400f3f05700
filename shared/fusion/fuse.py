"""Candidates in, one ordered and explained list out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shared.fusion.balance import balance_weights
from shared.fusion.explain import Explanation
from shared.fusion.rank import Dropped, Scored, pass_threshold, rank
from shared.fusion.rrf import rrf_scores
from shared.fusion.weighted import Weights, weighted_scores
from shared.model import Candidate, Channel, SearchMethod

type Scores = NDArray[np.float64]


class FusionMethod(StrEnum):
    """How a hybrid query makes one score of its channels' answers."""

    WEIGHTED_SCORE = "weighted_score"
    RRF = "rrf"
    NONE = "none"


class KeywordScoring(StrEnum):
    """The form that K has: `keywords.dify_scores` or `bm25.bm25_scores`."""

    DIFY = "dify"
    BM25 = "bm25"


DEFAULT_KEYWORD_SCORING = KeywordScoring.BM25
"""The form that K has where a query says none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionPlan:
    """How candidates become a list.

    Attributes:
        search_method: a query of one channel is scored by that channel's component.
        method: what a hybrid query does. Of the others `RRF` alone says something: that cosines
            are of different models, so that a semantic query is scored by its ranks.
        weights: None for the method's own, which `weigh` tells.
        keyword_scoring: the form of K, where the search method leaves a choice.
        rank_constant: of rrf.
        threshold: the least final score; None is off, 0 is a threshold.
    """

    search_method: SearchMethod
    method: FusionMethod = FusionMethod.WEIGHTED_SCORE
    weights: Weights | None = None
    keyword_scoring: KeywordScoring = DEFAULT_KEYWORD_SCORING
    rank_constant: int = 60
    threshold: float | None = None

    @property
    def keyword_form(self) -> KeywordScoring | None:
        """The form of K that the scores are made with; None where they are made without."""
        match self.search_method:
            case SearchMethod.FULL_TEXT:
                return KeywordScoring.BM25
            case SearchMethod.KEYWORD:
                return self.keyword_scoring
            case SearchMethod.HYBRID if self.method is FusionMethod.WEIGHTED_SCORE:
                return self.keyword_scoring
            case _:
                return None

    def weigh(self, vector: Scores, keyword: Scores | None) -> Weights | None:
        """Returns the weights of the scores, their sum 1; None where they are made without.

        Those that were asked for; else equal ones (rrf), Dify's own 0.7 and 0.3 for its K, and for
        K of BM25 what these candidates call for.

        Args:
            vector: V of each candidate, shape (candidates,).
            keyword: K, likewise; None where the scores are made without.
        """
        if self.search_method is not SearchMethod.HYBRID or self.method is FusionMethod.NONE:
            return None
        if self.weights is not None:
            return self.weights.scale()
        if self.method is FusionMethod.RRF:
            return Weights(1, 1).scale()
        if self.keyword_scoring is KeywordScoring.DIFY:
            return Weights().scale()
        return balance_weights(vector, _require(keyword))


@dataclass(frozen=True, slots=True)
class Fused:
    """The candidates in order.

    Attributes:
        ranked: all that reach the threshold, best first; `rank.cut` cuts them to top_k, once it is
            known which of them still exist.
        dropped: those that don't, best first.
    """

    ranked: list[Scored]
    dropped: list[Dropped]


def fuse(
    candidates: Sequence[Candidate],
    plan: FusionPlan,
    keyword_scores: Scores | None = None,
    joined: Sequence[Scored] = (),
) -> Fused:
    """Scores, orders and thresholds the candidates. What is not known of a candidate counts 0.

    Args:
        candidates: with V and their standing in each channel; ids are distinct.
        plan: the method, its weights and the threshold.
        keyword_scores: K of each candidate, shape (candidates,).
        joined: candidates whose final score is somebody else's; they are only ordered and
            thresholded.

    Raises:
        ValueError: the plan's scores are made of K, and it is not there.
    """
    cosines = _known(np.array([candidate.cosine for candidate in candidates], np.float64))
    keyword = None if keyword_scores is None else _known(keyword_scores)
    weights = plan.weigh(cosines, keyword)
    scores = _score(candidates, plan, cosines, keyword, weights)
    shown = [None] * len(candidates) if keyword is None else keyword.tolist()
    scored = [
        Scored(
            candidate.chunk_id,
            score,
            Explanation(
                channels=candidate.channels,
                vector_score=candidate.cosine,
                keyword_score=keyword_score,
                weights=weights,
                final_score=score,
                threshold=plan.threshold,
            ),
        )
        for candidate, score, keyword_score in zip(candidates, scores.tolist(), shown, strict=True)
    ]
    return Fused(*pass_threshold(rank([*scored, *joined]), plan.threshold))


def _score(
    candidates: Sequence[Candidate],
    plan: FusionPlan,
    cosines: Scores,
    keyword: Scores | None,
    weights: Weights | None,
) -> Scores:
    if plan.search_method is SearchMethod.SEMANTIC:
        if plan.method is FusionMethod.RRF:
            return rrf_scores(candidates, {Channel.VECTOR: 1.0}, plan.rank_constant)
        return cosines
    if plan.search_method is not SearchMethod.HYBRID:
        return _require(keyword)
    if weights is None:
        return cosines
    if plan.method is FusionMethod.RRF:
        by_channel = {Channel.VECTOR: weights.vector, Channel.TEXT: weights.keyword}
        return rrf_scores(candidates, by_channel, plan.rank_constant)
    return weighted_scores(cosines, _require(keyword), weights)


def _require(keyword: Scores | None) -> Scores:
    if keyword is None:
        raise ValueError("keyword_scores: these scores are made of them")
    return keyword


def _known(scores: Scores) -> Scores:
    return np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=0.0)
