"""The channels at once, each with the same scope and depth, each within the deadline.

Tasks share nothing: each returns its own list. What is late is thrown away, and no task waits for
another.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

from functions.retrieve.channels import Answer, Asked, Searcher
from functions.retrieve.pool import collect, tell
from functions.retrieve.query import Degraded, Query
from shared.analysis.analyzer import analyze
from shared.errors import Unavailable, WinnowError
from shared.model import Channel, EmbeddingSpace, Hit, SearchMethod, SearchScope, Vector
from shared.telemetry import log_failure


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInSpace:
    """What the channels of one embedding space found.

    Attributes:
        lists: the hits of each channel that answered in time, best first.
        vector: the query vector; None where no channel needed one, or it failed.
        idf_sum: Σ idf of the query's words, for K in its `bm25` form; 0 where it is not known.
    """

    scope: SearchScope
    lists: Mapping[Channel, Sequence[Hit]]
    vector: Vector | None
    idf_sum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found.

    Attributes:
        left_out_words: how many distinct words were too many.
        timings: milliseconds; of several embedding spaces, the longest.
    """

    spaces: Sequence[FoundInSpace] = ()
    degraded: Sequence[Degraded] = ()
    left_out_words: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_answer(self) -> bool:
        """Tells whether any channel answered."""
        return any(each.lists for each in self.spaces)


def search(
    query: Query,
    scopes: Sequence[SearchScope],
    searcher: Searcher,
    deadline: float,
    meanwhile: Callable[[Sequence[Hit]], None],
) -> Found:
    """Asks the channels of the query's method, in every embedding space at once.

    Args:
        query: what is asked.
        scopes: what may be found in each embedding space.
        searcher: the engine, the embedders, the threads.
        deadline: on the monotonic clock.
        meanwhile: called, in the caller's thread, with the hits of a channel while others search.

    Raises:
        Unavailable: no channel answered, and there is no external base that may; or one did not,
            and the query wants an error then.
    """
    words = [] if query.search_method is SearchMethod.SEMANTIC else analyze(query.text)
    started = [
        (scope, channel, searcher.pool.start(task))
        for scope in scopes
        for channel, task in Asked(query, scope, words, searcher, deadline).list_tasks()
    ]
    running = [future for *_, future in started if future is not None]
    for answer in _wait_for(running, deadline):
        meanwhile(answer.hits)
    answers: list[tuple[EmbeddingSpace, Channel, Answer]] = []
    failed: dict[tuple[EmbeddingSpace, Channel], Degraded] = {}
    for scope, channel, future in started:
        try:
            answers.append((scope.space, channel, collect(future)))
        except WinnowError as error:
            log_failure("a channel failed", error, channel=channel)
            reason = tell(error) if len(scopes) == 1 else f"{scope.space.model}: {tell(error)}"
            failed.setdefault((scope.space, channel), Degraded(channel, reason))
    found = Found(
        spaces=[_join(scope, answers, failed.keys()) for scope in scopes],
        degraded=list(failed.values()),
        left_out_words=max((answer.left_out_words for *_, answer in answers), default=0),
        timings=_list_longest(answer.timings for *_, answer in answers),
    )
    is_alone = not found.has_answer and len(query.own) == len(query.datasets)
    if failed and (query.fails_on_channel or is_alone):
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


def _join(
    scope: SearchScope,
    answers: Sequence[tuple[EmbeddingSpace, Channel, Answer]],
    failed: Collection[tuple[EmbeddingSpace, Channel]],
) -> FoundInSpace:
    own = [(channel, answer) for space, channel, answer in answers if space == scope.space]
    lists: dict[Channel, list[Hit]] = {}
    for channel, answer in own:
        if (scope.space, channel) not in failed:
            lists.setdefault(channel, []).extend(answer.hits)
    return FoundInSpace(
        scope=scope,
        lists=lists,
        vector=next((answer.vector for _, answer in own if answer.vector is not None), None),
        idf_sum=sum(answer.idf_sum for _, answer in own),
    )


def _list_longest(every: Iterable[Mapping[str, float]]) -> dict[str, float]:
    longest: dict[str, float] = {}
    for timings in every:
        for name, milliseconds in timings.items():
            longest[name] = max(milliseconds, longest.get(name, 0.0))
    return longest
