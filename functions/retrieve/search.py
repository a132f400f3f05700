"""The channels at once, each with the same scope and depth, each within the deadline.

Tasks share nothing: each returns its own list. What is late is thrown away, and no task waits for
another.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from functions.retrieve.channels import Answer, Asked, Searcher
from functions.retrieve.pool import collect, tell
from functions.retrieve.query import Degraded, Query
from shared.analysis.analyzer import analyze
from shared.errors import Unavailable, WinnowError
from shared.model import Channel, Hit, SearchMethod, SearchScope, Vector
from shared.telemetry import log_failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the channels that answered in time found.

    Attributes:
        lists: each channel's hits, best first.
        vector: the query vector; None where no channel needed one, or it failed.
        idf_sum: Σ idf of the query's words, for K in its `bm25` form; 0 where it is not known.
        left_out_words: how many distinct words were too many.
        timings: milliseconds.
    """

    lists: Mapping[Channel, Sequence[Hit]]
    degraded: Sequence[Degraded]
    vector: Vector | None
    idf_sum: float
    left_out_words: int
    timings: Mapping[str, float]


NOTHING = Found(lists={}, degraded=(), vector=None, idf_sum=0.0, left_out_words=0, timings={})
"""What a search that was not sent found."""


def search(
    query: Query,
    scope: SearchScope,
    searcher: Searcher,
    deadline: float,
    meanwhile: Callable[[Sequence[Hit]], None],
) -> Found:
    """Asks the channels of the query's method.

    Args:
        query: what is asked.
        scope: what may be found.
        searcher: the engine, the embedders, the threads.
        deadline: on the monotonic clock.
        meanwhile: called, in the caller's thread, with the hits of a channel while others search.

    Raises:
        Unavailable: no channel answered, and there is no external base that may; or one did not,
            and the query wants an error then.
    """
    words = [] if query.search_method is SearchMethod.SEMANTIC else analyze(query.text)
    tasks = Asked(query, scope, words, searcher, deadline).list_tasks()
    started = [(channel, searcher.pool.start(task)) for channel, task in tasks]
    running = [future for _, future in started if future is not None]
    for answer in _wait_for(running, deadline):
        meanwhile(answer.hits)
    answers: list[tuple[Channel, Answer]] = []
    degraded: dict[Channel, Degraded] = {}
    for channel, future in started:
        try:
            answers.append((channel, collect(future)))
        except WinnowError as error:
            log_failure("a channel failed", error, channel=channel)
            degraded.setdefault(channel, Degraded(channel, tell(error)))
    found = _join(answers, degraded)
    is_alone = not found.lists and len(query.own) == len(query.datasets)
    if degraded and (query.fails_on_channel or is_alone):
        raise Unavailable("; ".join(f"{each.channel}: {each.reason}" for each in found.degraded))
    return found


def _wait_for(running: Sequence[Future[Answer]], deadline: float) -> Iterator[Answer]:
    """Yields the answers that are there while others are not; ends with the last, or in time."""
    pending = set(running)
    while pending:
        left = max(0.0, deadline - time.monotonic())
        done, pending = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
        if not done:
            return
        if pending:
            yield from (future.result() for future in done if future.exception() is None)


def find_cosines(
    scope: SearchScope,
    searcher: Searcher,
    vector: Vector,
    chunk_ids: Sequence[str],
    deadline: float,
) -> Mapping[str, float]:
    """Returns the true cosines of hits that no vector list brought, without moving vectors."""
    timeout = deadline - time.monotonic()
    future = searcher.pool.start(
        lambda: searcher.search.find_cosines(scope, chunk_ids, vector, timeout)
    )
    wait([future] if future else [], timeout=max(0.0, timeout))
    return collect(future)


def _join(answers: Sequence[tuple[Channel, Answer]], degraded: Mapping[Channel, Degraded]) -> Found:
    lists: dict[Channel, list[Hit]] = {}
    timings: dict[str, float] = {}
    for channel, answer in answers:
        timings |= answer.timings
        if channel not in degraded:
            lists.setdefault(channel, []).extend(answer.hits)
    every = [answer for _, answer in answers]
    return Found(
        lists=lists,
        degraded=list(degraded.values()),
        vector=next((answer.vector for answer in every if answer.vector is not None), None),
        idf_sum=sum(answer.idf_sum for answer in every),
        left_out_words=sum(answer.left_out_words for answer in every),
        timings=timings,
    )
