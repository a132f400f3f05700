"""The channels at once, each with the same scope and depth, each within the deadline.

Tasks share nothing: each returns its own list. What is late is thrown away, and no task waits for
another.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from functions.retrieve.embed import embed_query
from functions.retrieve.pool import LATE, Pool, collect, tell
from functions.retrieve.query import Degraded, Query
from functions.retrieve.stopwatch import Stopwatch
from shared.analysis.analyzer import analyze, keywords
from shared.errors import EmbedderFailed, Unavailable, WinnowError
from shared.model import Channel, Hit, SearchMethod, SearchScope, Vector
from shared.ports import ChunkSearch, Embedder
from shared.telemetry import log_failure

MOST_WORDS = 512
"""Distinct words of a text query; the engine refuses more than 1,024."""

_CHANNELS: Mapping[SearchMethod, Sequence[Channel]] = {
    SearchMethod.SEMANTIC: [Channel.VECTOR],
    SearchMethod.FULL_TEXT: [Channel.TEXT],
    SearchMethod.KEYWORD: [Channel.KEYWORD],
    SearchMethod.HYBRID: [Channel.VECTOR, Channel.TEXT],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the channels that answered in time found.

    Attributes:
        lists: each channel's hits, best first.
        vector: the query vector; None where no channel needed one, or it failed.
        idf_sum: Σ idf of the query's words, for full-text scores; None for other methods.
        left_out_words: how many distinct words were too many.
        timings: milliseconds.
    """

    lists: Mapping[Channel, Sequence[Hit]]
    degraded: Sequence[Degraded]
    vector: Vector | None
    idf_sum: float | None
    left_out_words: int
    timings: Mapping[str, float]


NOTHING = Found(lists={}, degraded=(), vector=None, idf_sum=None, left_out_words=0, timings={})
"""What a search that was not sent found."""


@dataclass(frozen=True, slots=True)
class _Answer:
    hits: Sequence[Hit]
    timings: Mapping[str, float]
    vector: Vector | None = None
    idf_sum: float | None = None
    left_out_words: int = 0


@dataclass(frozen=True, slots=True)
class Searcher:
    """What a search works with."""

    search: ChunkSearch
    embedder_for: Callable[..., Embedder | None]
    pool: Pool
    depth: int


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
    tasks = {
        channel: _ASK[channel](query, scope, searcher, deadline)
        for channel in _CHANNELS[query.search_method]
    }
    started = {channel: searcher.pool.start(task) for channel, task in tasks.items()}
    running = [future for future in started.values() if future is not None]
    for answer in _wait_for(running, deadline):
        meanwhile(answer.hits)
    answers: dict[Channel, _Answer] = {}
    degraded: list[Degraded] = []
    for channel, future in started.items():
        try:
            answers[channel] = collect(future)
        except WinnowError as error:
            log_failure("a channel failed", error, channel=channel)
            degraded.append(Degraded(channel, tell(error)))
    is_alone = not answers and len(query.own) == len(query.datasets)
    if degraded and (query.fails_on_channel or is_alone):
        raise Unavailable("; ".join(f"{each.channel}: {each.reason}" for each in degraded))
    return _join(answers, degraded)


def _wait_for(running: Sequence[Future[_Answer]], deadline: float) -> Iterator[_Answer]:
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


def _join(answers: Mapping[Channel, _Answer], degraded: Sequence[Degraded]) -> Found:
    timings: dict[str, float] = {}
    for answer in answers.values():
        timings |= answer.timings
    return Found(
        lists={channel: answer.hits for channel, answer in answers.items()},
        degraded=degraded,
        vector=next((a.vector for a in answers.values() if a.vector is not None), None),
        idf_sum=next((a.idf_sum for a in answers.values() if a.idf_sum is not None), None),
        left_out_words=sum(answer.left_out_words for answer in answers.values()),
        timings=timings,
    )


def _ask_vector(
    query: Query, scope: SearchScope, searcher: Searcher, deadline: float
) -> Callable[[], _Answer]:
    def ask() -> _Answer:
        watch = Stopwatch()
        vector = query.vector
        if vector is None:
            embedder = searcher.embedder_for(query.space)
            if embedder is None:
                raise EmbedderFailed("this dataset embeds no queries")
            vector = embed_query(query, embedder, _remaining(deadline))
            watch.lap("embed")
        hits = searcher.search.search_vector(scope, vector, searcher.depth, _remaining(deadline))
        watch.lap("vector")
        return _Answer(hits, watch.laps, vector)

    return ask


def _ask_text(
    query: Query, scope: SearchScope, searcher: Searcher, deadline: float
) -> Callable[[], _Answer]:
    def ask() -> _Answer:
        watch = Stopwatch()
        engine = searcher.search
        words = analyze(query.text)
        distinct = set(words)
        if len(distinct) > MOST_WORDS:
            kept = set(
                engine.pick_rarest(query.space, list(distinct), MOST_WORDS, _remaining(deadline))
            )
            words = [word for word in words if word in kept]
        # BM25 alone is the score of a full-text search, and needs its ceiling.
        alone = query.search_method is SearchMethod.FULL_TEXT and words
        idf_sum = engine.sum_idf(query.space, words, _remaining(deadline)) if alone else None
        hits = engine.search_text(
            scope, words, searcher.depth, _remaining(deadline), None if alone else query.vector
        )
        watch.lap("text")
        return _Answer(hits, watch.laps, None, idf_sum, len(distinct) - len(set(words)))

    return ask


def _ask_keyword(
    query: Query, scope: SearchScope, searcher: Searcher, deadline: float
) -> Callable[[], _Answer]:
    def ask() -> _Answer:
        watch = Stopwatch()
        wanted = keywords(query.text)
        kept = wanted
        if len(wanted) > MOST_WORDS:
            kept = tuple(
                searcher.search.pick_rarest(query.space, wanted, MOST_WORDS, _remaining(deadline))
            )
        hits = searcher.search.search_keywords(scope, kept, searcher.depth, _remaining(deadline))
        watch.lap("keyword")
        return _Answer(hits, watch.laps, left_out_words=len(wanted) - len(kept))

    return ask


_ASK = {Channel.VECTOR: _ask_vector, Channel.TEXT: _ask_text, Channel.KEYWORD: _ask_keyword}


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise Unavailable(LATE)
    return remaining
