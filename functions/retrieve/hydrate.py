"""The winners' text and metadata, from PostgreSQL: what is not to be seen now is never returned."""

from collections.abc import Sequence

from functions.retrieve.query import Record
from functions.retrieve.texts import Texts
from shared.fusion.rank import Dropped, DropReason, Scored, cut, shown_score
from shared.postgres.retrieval import Generation, RecordText

NEXT_PAGE = 50
"""Candidates that are looked up at once where the first top_k were not enough."""


def hydrate(
    ranked: Sequence[Scored], top_k: int, texts: Texts
) -> tuple[list[Record], list[Dropped]]:
    """Returns the first top_k candidates that may be seen, and those that fell out.

    A candidate that is deleted, disabled or archived by now, or does not pass the filter any more,
    gives its place to the next one. Of a document that changed meanwhile come chunks of the old
    content or of the new, never of both. Of the chunks of one parent the best stands for it, so
    that a parent comes once.
    """
    records: list[Record] = []
    dropped: list[Dropped] = []
    generations: dict[str | None, Generation] = {}
    parents: set[str] = set()
    done, size = 0, top_k
    while done < len(ranked) and len(records) < top_k:
        page = ranked[done : done + size]
        size = max(NEXT_PAGE, top_k)
        found = texts.find(page)
        for scored in page:
            if len(records) == top_k:
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


def _fits(text: RecordText, generations: dict[str | None, Generation]) -> bool:
    """Tells whether a chunk goes with those taken of its document: all old, or all new."""
    if text.generation is Generation.BOTH:
        return True
    return generations.setdefault(text.document_id, text.generation) is text.generation
