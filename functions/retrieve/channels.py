"""What is asked of one embedding space: tasks that share it, change nothing, await no other."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from functions.retrieve.embed import embed_query
from functions.retrieve.pool import LATE, Pool
from functions.retrieve.query import Query
from functions.retrieve.stopwatch import Stopwatch
from shared.analysis.analyzer import pick_keywords
from shared.errors import EmbedderFailed, Unavailable
from shared.fusion.fuse import KeywordScoring
from shared.model import Channel, Hit, SearchMethod, SearchScope, Vector
from shared.ports import ChunkSearch, Embedder

MOST_WORDS = 512
"""Distinct words of a text query; the engine refuses more than 1,024."""

MOST_KEYWORDS_WITH_BM25 = 256
"""The words of BM25 stand beside them, and what the scope is made of."""

_CHANNELS: Mapping[SearchMethod, Sequence[Channel]] = {
    SearchMethod.SEMANTIC: [Channel.VECTOR],
    SearchMethod.FULL_TEXT: [Channel.TEXT],
    SearchMethod.KEYWORD: [Channel.KEYWORD],
    SearchMethod.HYBRID: [Channel.VECTOR, Channel.TEXT],
}
"""Where a method has a channel of words, that is the last."""


@dataclass(frozen=True, slots=True)
class Searcher:
    """What a search works with."""

    search: ChunkSearch
    embedder_for: Callable[..., Embedder | None]
    pool: Pool
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one task found out.

    Attributes:
        vector: the query vector that it searched with.
        idf_sum: Σ idf of the query's words.
        left_out_words: how many distinct words were too many.
        timings: milliseconds.
    """

    hits: Sequence[Hit] = ()
    vector: Vector | None = None
    idf_sum: float = 0.0
    left_out_words: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the tasks of one embedding space share.

    Attributes:
        words: of the query, analysed; a method without a channel of words needs none.
        deadline: on the monotonic clock.
    """

    query: Query
    scope: SearchScope
    words: Sequence[str]
    searcher: Searcher
    deadline: float

    def list_tasks(self) -> list[tuple[Channel, Callable[[], Answer]]]:
        """Returns the tasks, each with the channel that fails with it."""
        return [(channel, partial(ask, self)) for channel, ask in _list_asks(self.query)]

    def remaining(self) -> float:
        """Returns the seconds that are left; raises `Unavailable` where there are none."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise Unavailable(LATE)
        return remaining

    def keep_rarest(self, words: Sequence[str], most: int = MOST_WORDS) -> Sequence[str]:
        """Returns the words that are asked for, as often as they stand there."""
        distinct = set(words)
        if len(distinct) <= most:
            return words
        rarest = self.searcher.search.pick_rarest(
            self.scope.space, list(distinct), most, self.remaining()
        )
        kept = set(rarest)
        return [word for word in words if word in kept]


def _ask_vector(asked: Asked) -> Answer:
    watch = Stopwatch()
    vector = asked.query.vector
    if vector is None:
        embedder = asked.searcher.embedder_for(asked.scope.space)
        if embedder is None:
            raise EmbedderFailed("this dataset embeds no queries")
        vector = embed_query(asked.query, embedder, asked.remaining())
        watch.lap("embed")
    words = asked.keep_rarest(asked.words) if _has_bm25(asked.query) else ()
    hits = asked.searcher.search.search_vector(
        asked.scope, vector, asked.searcher.depth, asked.remaining(), words
    )
    watch.lap("vector")
    return Answer(hits=hits, vector=vector, timings=watch.laps)


def _ask_text(asked: Asked) -> Answer:
    watch = Stopwatch()
    words = asked.keep_rarest(asked.words)
    is_hybrid = asked.query.search_method is SearchMethod.HYBRID
    vector = asked.query.vector if is_hybrid else None
    hits = asked.searcher.search.search_text(
        asked.scope, words, asked.searcher.depth, asked.remaining(), vector
    )
    watch.lap("text")
    left_out = len(set(asked.words)) - len(set(words))
    return Answer(hits=hits, left_out_words=left_out, timings=watch.laps)


def _ask_keyword(asked: Asked) -> Answer:
    watch = Stopwatch()
    keywords = pick_keywords(asked.words)
    has_bm25 = _has_bm25(asked.query)
    kept = asked.keep_rarest(keywords, MOST_KEYWORDS_WITH_BM25 if has_bm25 else MOST_WORDS)
    words = asked.keep_rarest(asked.words) if has_bm25 else ()
    hits = asked.searcher.search.search_keywords(
        asked.scope, kept, asked.searcher.depth, asked.remaining(), words
    )
    watch.lap("keyword")
    return Answer(hits=hits, left_out_words=len(keywords) - len(kept), timings=watch.laps)


def _ask_idf(asked: Asked) -> Answer:
    words = asked.keep_rarest(asked.words)
    if not words:
        return Answer()
    watch = Stopwatch()
    idf_sum = asked.searcher.search.sum_idf(asked.scope.space, words, asked.remaining())
    watch.lap("idf")
    return Answer(idf_sum=idf_sum, timings=watch.laps)


_ASK = {Channel.VECTOR: _ask_vector, Channel.TEXT: _ask_text, Channel.KEYWORD: _ask_keyword}


def _has_bm25(query: Query) -> bool:
    return query.plan.keyword_form is KeywordScoring.BM25


def _list_asks(query: Query) -> list[tuple[Channel, Callable[[Asked], Answer]]]:
    channels = _CHANNELS[query.search_method]
    asks: list[tuple[Channel, Callable[[Asked], Answer]]] = [(c, _ASK[c]) for c in channels]
    if _has_bm25(query):
        asks.append((channels[-1], _ask_idf))
    return asks


def count_tasks(query: Query) -> int:
    """Returns how many tasks the search of one embedding space has."""
    return len(_list_asks(query))
