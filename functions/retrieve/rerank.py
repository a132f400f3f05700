"""A reranking model scores the candidates by their texts, as they are now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import batched

from functions.retrieve.outside import ask_model, share_deadline
from functions.retrieve.parts import Parts
from functions.retrieve.pool import tell
from functions.retrieve.query import Degraded, Query
from functions.retrieve.texts import Texts
from shared.errors import InvalidRequest, RerankerFailed, WinnowError
from shared.fusion.fuse import Fused
from shared.fusion.rank import Dropped, DropReason, Scored, pass_threshold, rank
from shared.ports import ImageReranker, Reranker
from shared.telemetry import log_failure

CHANNEL = "reranking_model"
"""What a model that failed is called among the channels."""

KEPT_SECONDS = 0.2
"""Of the deadline that reading the winners keeps, or half of what is left where that is less."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """The candidates that the model is given and what it reads of each, and those it is not."""

    scored: list[Scored] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def find_reranker(query: Query, parts: Parts) -> Reranker | None:
    """Returns the model that the query asks for; None where it asks for none.

    Raises:
        InvalidRequest: there is no such model here, or it reads no images and the query has one.
    """
    if query.reranking is None:
        return None
    found = parts.reranker_for(query.reranking.provider, query.reranking.model)
    if query.image is not None and not isinstance(found, ImageReranker):
        raise InvalidRequest.at(
            "/fusion/reranking_model",
            "this model reads no images: name another, or another method of fusion",
        )
    return found


def rerank(
    query: Query, reranker: Reranker, fused: Fused, texts: Texts, parts: Parts, deadline: float
) -> tuple[Fused, Sequence[Degraded]]:
    """Returns the candidates by the model's scores; or as they were, and why.

    The first of them go to the model, as many as it takes; the rest fall out, for they have no
    score that could be compared. Without candidates nothing is asked.

    Args:
        query: what is asked.
        reranker: the model.
        fused: the candidates by the scores that they have without it.
        texts: looks them up.
        parts: the threads and limits.
        deadline: on the monotonic clock.

    Raises:
        RerankerFailed: it gave no whole answer, and the query wants an error then.
    """
    most = min(reranker.most_passages, parts.reranker_candidates)
    taken = _take([*fused.ranked, *(each.restore() for each in fused.dropped)], most, texts)
    if not taken.scored:
        return Fused([], taken.dropped), ()
    try:
        scores = _ask(query, reranker, taken.passages, parts, deadline)
    except WinnowError as error:
        log_failure("the reranking model failed", error)
        if query.fails_on_channel:
            raise RerankerFailed(f"{CHANNEL}: {tell(error)}") from error
        return fused, [Degraded(CHANNEL, tell(error))]
    ranked = rank(map(_rescore, taken.scored, scores))
    kept, missed = pass_threshold(ranked, query.plan.threshold)
    return Fused(kept, [*missed, *taken.dropped]), ()


def _take(everyone: Sequence[Scored], most: int, texts: Texts) -> _Taken:
    """Takes the first that may be seen; who may not gives the place to the next one."""
    taken = _Taken()
    for page in batched(everyone, most, strict=False):
        found = texts.find(page) if len(taken.scored) < most else {}
        for scored in page:
            text = found.get(scored.chunk_id)
            if len(taken.scored) == most:
                taken.dropped.append(Dropped.of(scored, DropReason.NOT_RERANKED))
            elif text is None:
                taken.dropped.append(Dropped.of(scored, DropReason.HIDDEN))
            else:
                taken.scored.append(scored)
                taken.passages.append(text.searchable_text)
    return taken


def _ask(
    query: Query, reranker: Reranker, passages: Sequence[str], parts: Parts, deadline: float
) -> Sequence[float]:
    def ask(timeout: float) -> Sequence[float]:
        if query.image is not None and isinstance(reranker, ImageReranker):
            return reranker.rerank_image(query.image, query.text, passages, timeout)
        return reranker.rerank(query.text, passages, timeout)

    timeout = share_deadline(deadline, parts.reranker_timeout, KEPT_SECONDS)
    scores = ask_model(ask, parts.outside, timeout, RerankerFailed, "the reranking model")
    # Adapters see to it; one that did not would lose candidates, or put them anywhere.
    if len(scores) != len(passages) or not all(0 <= score <= 1 for score in scores):
        raise RerankerFailed("the reranking model did not score every candidate in 0 to 1")
    return scores


def _rescore(scored: Scored, score: float) -> Scored:
    explanation = scored.explanation._replace(rerank_score=score, final_score=score, weights=None)
    return Scored(scored.chunk_id, score, explanation)
