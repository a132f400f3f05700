"""The winners' text and metadata, from PostgreSQL: what is not to be seen now is never returned."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from sqlalchemy import Connection, Engine

from functions.retrieve.query import Query, Record
from functions.retrieve.stopwatch import Stopwatch
from shared.fusion.rank import Dropped, DropReason, Scored, cut, shown_score
from shared.postgres import retrieval
from shared.postgres.engine import read
from shared.postgres.retrieval import Generation, RecordText

NEXT_PAGE = 50
"""Candidates that are looked up at once where the first top_k were not enough."""


def hydrate(
    query: Query,
    ranked: Sequence[Scored],
    brought: Mapping[str, RecordText],
    engine: Engine,
    watch: Stopwatch,
    timeout: float,
) -> tuple[list[Record], list[Dropped]]:
    """Returns the first top_k candidates that may be seen, and those that fell out.

    A candidate that is deleted, disabled or archived by now, or does not pass the filter any more,
    gives its place to the next one. Of a document that changed meanwhile come chunks of the old
    content or of the new, never of both. Of the chunks of one parent the best stands for it, so
    that a parent comes once. What external bases brought along is not ours to judge.
    """
    records: list[Record] = []
    dropped: list[Dropped] = []
    generations: dict[str | None, Generation] = {}
    parents: set[str] = set()
    done, size = 0, query.top_k
    with _connect(ranked, brought, engine, timeout) as connection:
        while done < len(ranked) and len(records) < query.top_k:
            page = ranked[done : done + size]
            size = max(NEXT_PAGE, query.top_k)
            ids = [scored.chunk_id for scored in page if scored.chunk_id not in brought]
            found = {**brought, **_look_up(query, ids, connection, watch.age())}
            for scored in page:
                if len(records) == query.top_k:
                    break
                done += 1
                text = found.get(scored.chunk_id)
                if text is None or not _fits(text, generations):
                    dropped.append(Dropped.of(scored, DropReason.HIDDEN))
                elif text.parent_id in parents:
                    dropped.append(Dropped.of(scored, DropReason.PARENT))
                else:
                    if text.parent_id is not None:
                        parents.add(text.parent_id)
                    records.append(Record(text, shown_score(scored.score), scored.explanation))
    return records, [*dropped, *cut(list(ranked[done:]), 0)[1]]


def _connect(
    ranked: Sequence[Scored], brought: Mapping[str, RecordText], engine: Engine, timeout: float
) -> AbstractContextManager[Connection | None]:
    own = any(scored.chunk_id not in brought for scored in ranked)
    return read(engine, timeout) if own else nullcontext()


def _look_up(
    query: Query, ids: Sequence[str], connection: Connection | None, age: float
) -> Mapping[str, RecordText]:
    if connection is None or not ids:
        return {}
    return retrieval.hydrate(connection, query.tenant_id, ids, age, query.filter)


def _fits(text: RecordText, generations: dict[str | None, Generation]) -> bool:
    """Tells whether a chunk goes with those taken of its document: all old, or all new."""
    if text.generation is Generation.BOTH:
        return True
    return generations.setdefault(text.document_id, text.generation) is text.generation
