"""The winners' text and metadata, from PostgreSQL: what is not to be seen now is never returned."""

from collections.abc import Sequence

from sqlalchemy import Engine

from functions.retrieve.query import Query, Record
from functions.retrieve.stopwatch import Stopwatch
from shared.fusion.rank import Dropped, DropReason, Scored, cut, shown_score
from shared.postgres import retrieval
from shared.postgres.engine import read
from shared.postgres.retrieval import Generation, RecordText

NEXT_PAGE = 50
"""Candidates that are looked up at once where the first top_k were not enough."""


def hydrate(
    query: Query, ranked: Sequence[Scored], engine: Engine, watch: Stopwatch, timeout: float
) -> tuple[list[Record], list[Dropped]]:
    """Returns the first top_k candidates that may be seen, and those that fell out.

    A candidate that is deleted, disabled or archived by now, or does not pass the filter any more,
    gives its place to the next one. Of a document that changed meanwhile come chunks of the old
    content or of the new, never of both.
    """
    records: list[Record] = []
    dropped: list[Dropped] = []
    generations: dict[str, Generation] = {}
    done, size = 0, query.top_k
    with read(engine, timeout) as connection:
        while done < len(ranked) and len(records) < query.top_k:
            page = ranked[done : done + size]
            size = max(NEXT_PAGE, query.top_k)
            ids = [scored.chunk_id for scored in page]
            found = retrieval.hydrate(connection, query.tenant_id, ids, watch.age(), query.filter)
            for scored in page:
                if len(records) == query.top_k:
                    break
                done += 1
                text = found.get(scored.chunk_id)
                if text is None or not _fits(text, generations):
                    dropped.append(Dropped.of(scored, DropReason.HIDDEN))
                else:
                    records.append(Record(text, shown_score(scored.score), scored.explanation))
    return records, [*dropped, *cut(list(ranked[done:]), 0)[1]]


def _fits(text: RecordText, generations: dict[str, Generation]) -> bool:
    """Tells whether a chunk goes with those taken of its document: all old, or all new."""
    if text.generation is Generation.BOTH:
        return True
    return generations.setdefault(text.document_id, text.generation) is text.generation
