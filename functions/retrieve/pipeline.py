"""One query, forward only: prefilter → search → load → fuse → hydrate. The order stands here."""

import time
from collections.abc import Sequence
from dataclasses import replace

from functions.retrieve.hydrate import hydrate
from functions.retrieve.load import KeptKeywords, load_keyword_scores
from functions.retrieve.parts import Parts
from functions.retrieve.prefilter import prefilter
from functions.retrieve.query import Degraded, Query, Result
from functions.retrieve.search import Found, find_cosines, search
from functions.retrieve.stopwatch import Stopwatch
from shared.errors import Unavailable
from shared.fusion.deduplicate import deduplicate
from shared.fusion.fuse import FusionMethod, fuse
from shared.model import Candidate, Channel, Hit, SearchMethod, SearchScope
from shared.telemetry import log_failure

LEAST_SECONDS = 1.0
"""What PostgreSQL always gets: a channel that is late takes all the time there is, and the others'
hits still need their text."""


def retrieve(query: Query, parts: Parts) -> Result:
    """Answers a query.

    Raises:
        Unavailable: a store does not answer, or no channel does within the deadline.
    """
    watch = Stopwatch()
    deadline = time.monotonic() + query.deadline
    allowed = prefilter(query, parts.engine, _left(deadline))
    watch.lap("prefilter")
    if allowed.scope is None:
        return Result(matched_documents=allowed.matched_documents, timings=watch.total())
    kept = KeptKeywords(query, parts.engine)

    def load_meanwhile(hits: Sequence[Hit]) -> None:
        kept.load((hit.chunk_id for hit in hits), _left(deadline))

    with parts.searcher.pool.admit(deadline - time.monotonic()):
        found = search(query, allowed.scope, parts.searcher, deadline, load_meanwhile)
        candidates, degraded = _complete(query, allowed.scope, found, parts, deadline)
    watch.lap("search")
    keyword_scores = load_keyword_scores(query, found, candidates, kept, _left(deadline))
    watch.lap("load")
    fused = fuse(candidates, query.plan, keyword_scores)
    watch.lap("fuse")
    records, fell_out = hydrate(query, fused.ranked, parts.engine, watch, _left(deadline))
    watch.lap("hydrate")
    return Result(
        records=records,
        dropped=[*fell_out, *fused.dropped],
        degraded=degraded,
        matched_documents=allowed.matched_documents,
        left_out_words=found.left_out_words,
        timings={**watch.total(), **found.timings},
    )


def _left(deadline: float) -> float:
    return max(LEAST_SECONDS, deadline - time.monotonic())


def _complete(
    query: Query, scope: SearchScope, found: Found, parts: Parts, deadline: float
) -> tuple[Sequence[Candidate], Sequence[Degraded]]:
    """Gives the text channel's own finds their true cosines."""
    candidates = deduplicate(found.lists)
    missing = [c.chunk_id for c in candidates if c.cosine is None]
    scored_by_rank = query.plan.method is FusionMethod.RRF
    if found.vector is None or not missing or scored_by_rank:
        return candidates, found.degraded
    if query.search_method is not SearchMethod.HYBRID:
        return candidates, found.degraded
    try:
        cosines = find_cosines(scope, parts.searcher, found.vector, missing, deadline)
    except Unavailable as error:
        if query.fails_on_channel:
            raise
        log_failure("a channel failed", error, channel=Channel.VECTOR)
        return candidates, [*found.degraded, Degraded(Channel.VECTOR, str(error))]
    return [
        replace(c, cosine=cosines.get(c.chunk_id)) if c.cosine is None else c for c in candidates
    ], found.degraded
