"""The winners' text and metadata, from PostgreSQL: what is not to be seen now is never returned."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Engine

from functions.retrieve.query import Query, Record
from functions.retrieve.stopwatch import Stopwatch
from shared.fusion.rank import Dropped, DropReason, Scored, cut, shown_score
from shared.postgres import retrieval
from shared.postgres.engine import read
from shared.postgres.retrieval import Passage


def hydrate(
    query: Query,
    ranked: Sequence[Scored],
    brought: Mapping[str, Passage],
    engine: Engine,
    watch: Stopwatch,
) -> tuple[list[Record], list[Dropped]]:
    """Returns the first top_k candidates that may be seen, and those that fell out.

    A candidate that is deleted, disabled or archived by now, or does not pass the filter any more,
    gives its place to the next one. What external bases brought along is not ours to judge.
    """
    records: list[Record] = []
    dropped: list[Dropped] = []
    rest = list(ranked)
    while rest and len(records) < query.top_k:
        page, rest = rest[: query.top_k - len(records)], rest[query.top_k - len(records) :]
        ids = [scored.chunk_id for scored in page if scored.chunk_id not in brought]
        found = {**brought, **_read(query, ids, engine, watch)}
        for scored in page:
            passage = found.get(scored.chunk_id)
            if passage is None:
                dropped.append(Dropped.of(scored, DropReason.HIDDEN))
            else:
                records.append(Record(passage, shown_score(scored.score), scored.explanation))
    return records, [*dropped, *cut(rest, 0)[1]]


def _read(
    query: Query, ids: Sequence[str], engine: Engine, watch: Stopwatch
) -> Mapping[str, Passage]:
    if not ids:
        return {}
    with read(engine) as connection:
        return retrieval.hydrate(connection, query.tenant_id, ids, watch.age(), query.filter)
