"""One query, forward only: (automatic) → prefilter → search → load → fuse → (rerank) → hydrate.

The order stands here. External bases are asked before the search and waited for after it: they join
before the threshold.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf

from functions.retrieve.automatic import find_filter
from functions.retrieve.channels import count_tasks
from functions.retrieve.external import ask_external, join_external
from functions.retrieve.hydrate import hydrate
from functions.retrieve.load import KeptKeywords, load_keyword_scores
from functions.retrieve.outside import share_deadline
from functions.retrieve.parts import Parts
from functions.retrieve.prefilter import prefilter
from functions.retrieve.query import Degraded, Query, Result
from functions.retrieve.rerank import find_reranker, rerank
from functions.retrieve.search import Found, FoundInSpace, find_cosines, search
from functions.retrieve.stopwatch import Stopwatch
from functions.retrieve.texts import Texts
from shared.errors import Unavailable
from shared.fusion.deduplicate import deduplicate
from shared.fusion.fuse import FusionMethod, fuse
from shared.model import Candidate, Channel, Hit, SearchMethod, SearchScope
from shared.telemetry import log_failure

KEPT_SECONDS = 0.1
"""Of the deadline that is kept for what comes after the search, or half of what is left where that
is less: with a late channel, too, the answer is there in time."""

LEAST_SECONDS = 1.0
"""What PostgreSQL always gets: hits that were found still need their text."""


def retrieve(query: Query, parts: Parts) -> Result:
    """Answers a query.

    Raises:
        InvalidRequest: it asks for a model that there is not.
        Unavailable: a store does not answer, or no channel does within the deadline.
    """
    watch = Stopwatch()
    reranker = find_reranker(query, parts)
    deadline = time.monotonic() + query.deadline
    applied = None
    if query.automatic is not None:
        applied = find_filter(query, query.automatic, parts, deadline)
        watch.lap("automatic")
        if applied.empty:
            return Result(applied=applied, matched_documents=0, timings=watch.total())
        query = replace(query, filter=applied.tree, condition=applied.as_asked())
    found_by = time.monotonic() + share_deadline(deadline, inf, KEPT_SECONDS)
    asked = ask_external(query, parts.external, parts.outside, found_by)
    allowed = prefilter(query, parts.engine, _left(deadline))
    watch.lap("prefilter")
    if not allowed.scopes and not asked:
        return Result(
            applied=applied, matched_documents=allowed.matched_documents, timings=watch.total()
        )
    kept = KeptKeywords(query, parts.engine)
    found, candidates, degraded = _search(query, allowed.scopes, parts, found_by, kept)
    watch.lap("search")
    # Where the filter found nothing of ours, that is an answer too.
    is_alone = not found.has_answer and (bool(allowed.scopes) or not query.own)
    joined = join_external(query, asked, found_by, is_alone=is_alone)
    if asked:
        watch.lap("external")
    keyword_scores = load_keyword_scores(query, found, candidates, kept, _left(deadline))
    watch.lap("load")
    everyone = list(chain.from_iterable(candidates))
    fused = fuse(everyone, query.plan, keyword_scores, joined.scored)
    watch.lap("fuse")
    texts = Texts(
        query=query,
        engine=parts.engine,
        brought=joined.texts,
        age=watch.age,
        left=partial(_left, deadline),
    )
    failed: Sequence[Degraded] = ()
    if reranker is not None:
        fused, failed = rerank(query, reranker, fused, texts, parts, deadline)
        watch.lap("rerank")
    records, fell_out = hydrate(fused.ranked, query.top_k, texts)
    watch.lap("hydrate")
    return Result(
        records=records,
        dropped=[*fell_out, *fused.dropped],
        degraded=[*degraded, *joined.degraded, *failed],
        applied=applied,
        matched_documents=allowed.matched_documents,
        left_out_words=found.left_out_words,
        timings={**watch.total(), **found.timings},
    )


def _left(deadline: float) -> float:
    return max(LEAST_SECONDS, deadline - time.monotonic())


def _search(
    query: Query,
    scopes: Sequence[SearchScope],
    parts: Parts,
    deadline: float,
    kept: KeptKeywords,
) -> tuple[Found, Sequence[Sequence[Candidate]], Sequence[Degraded]]:
    """Returns what was found, the candidates of each embedding space, and channels that failed."""
    if not scopes:
        return Found(), (), ()

    def load_meanwhile(hits: Sequence[Hit]) -> None:
        kept.load((hit.chunk_id for hit in hits), _left(deadline))

    tasks = count_tasks(query) * len(scopes)
    with parts.searcher.pool.admit(tasks, deadline - time.monotonic()):
        found = search(query, scopes, parts.searcher, deadline, load_meanwhile)
        degraded = list(found.degraded)
        candidates = [
            _complete(query, space, parts, deadline, degraded.append) for space in found.spaces
        ]
        return found, candidates, degraded


def _complete(
    query: Query,
    found: FoundInSpace,
    parts: Parts,
    deadline: float,
    degrade: Callable[[Degraded], None],
) -> Sequence[Candidate]:
    """Returns the candidates, the text channel's own finds with their true cosines."""
    candidates = deduplicate(found.lists)
    missing = [c.chunk_id for c in candidates if c.cosine is None]
    scored_by_rank = query.plan.method is FusionMethod.RRF
    if found.vector is None or not missing or scored_by_rank:
        return candidates
    if query.search_method is not SearchMethod.HYBRID:
        return candidates
    try:
        cosines = find_cosines(found.scope, parts.searcher, found.vector, missing, deadline)
    except Unavailable as error:
        if query.fails_on_channel:
            raise
        log_failure("a channel failed", error, channel=Channel.VECTOR)
        degrade(Degraded(Channel.VECTOR, str(error)))
        return candidates
    return [
        c._replace(cosine=cosines.get(c.chunk_id)) if c.cosine is None else c for c in candidates
    ]
