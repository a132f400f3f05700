"""What PostgreSQL says of each chunk, against what the search index holds. Pure."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from shared.model import ListedChunk
from shared.postgres.standings import Standing


class Kind(StrEnum):
    """How the two stores differ over a chunk."""

    MISSING = "missing"
    ORPHANED = "orphaned"
    OUTDATED = "outdated"  # or ahead: the index holds another version, or that of another document


class Difference(NamedTuple):
    """One chunk over which the stores differ.

    Attributes:
        standing: what PostgreSQL says of it; None where it has no row.
        listed: what the index holds of it; None where that is nothing.
    """

    kind: Kind
    chunk_id: str
    dataset_id: str
    standing: Standing | None
    listed: ListedChunk | None

    def holds(self, now: Standing | None) -> bool:
        """Tells whether it is one still, given what PostgreSQL says later than it was found.

        A version never comes back, so one that is as it was has been that all the time: what the
        index held meanwhile is no step of a worker's.
        """
        before, after = (each and each.version for each in (self.standing, now))
        return before == after and judge(now, self.listed) is self.kind


def compare(standings: Sequence[Standing], listed: Sequence[ListedChunk]) -> Iterator[Difference]:
    """Yields the differences between two lists over the same range of ids, by id.

    Last come those that the index holds under ids that are not their chunks'.
    """
    known = {each.chunk_id: each for each in standings}
    held = {each.chunk_id: each for each in listed if each.stored_as is None}
    for chunk_id in sorted(known.keys() | held.keys()):
        standing, found = known.get(chunk_id), held.get(chunk_id)
        kind = judge(standing, found)
        if kind is not None:
            # As PostgreSQL says; else as the index does.
            owner = standing or held[chunk_id]
            yield Difference(kind, chunk_id, owner.dataset_id, standing, found)
    for each in listed:
        if each.stored_as is not None:
            yield Difference(Kind.ORPHANED, each.stored_as, each.dataset_id, None, each)


def judge(standing: Standing | None, listed: ListedChunk | None) -> Kind | None:
    """Tells how the stores differ over a chunk; None where they agree, or a worker is at it."""
    if standing is not None and standing.is_live:
        if listed is None:
            return Kind.MISSING
        # A version alone tells nothing once a database was set back: it is drawn again, and so is
        # a document's number.
        held = (listed.version, listed.document_seq)
        return None if held == (standing.version, standing.document_seq) else Kind.OUTDATED
    if listed is None or (standing is not None and standing.is_busy):
        return None
    return Kind.ORPHANED
