"""What a run found and did, counted for each dataset."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from functions.reconcile.compare import Difference
from functions.reconcile.window import Window


@dataclass(slots=True)
class Tally:
    """The counts of one dataset.

    Attributes:
        documents: that are not deleted.
        chunks: that the index must hold.
        indexed: that it holds.
        missing: that it lacks.
        orphaned: that it must not hold.
        outdated: that it holds in another version.
        stuck: documents with work to do that nobody would have done.
        left: differences that could not be repaired.
        waiting: documents whose work waits, or is being done.
        oldest_seconds: how long the oldest of them has waited.
    """

    documents: int = 0
    chunks: int = 0
    indexed: int = 0
    missing: int = 0
    orphaned: int = 0
    outdated: int = 0
    stuck: int = 0
    left: int = 0
    waiting: int = 0
    oldest_seconds: float = 0.0

    @property
    def differing(self) -> int:
        """How many chunks and documents were not as they must be."""
        return self.missing + self.orphaned + self.outdated + self.stuck


@dataclass(slots=True)
class Report:
    """What a run found and did.

    Attributes:
        datasets: the counts by dataset id; one that PostgreSQL does not know is orphaned whole.
        resent: overdue work that ingest was told of again.
        leftovers: indices of ours that are not live: one is being built, or its builder died.
        complete: every chunk was looked at.
    """

    datasets: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    resent: int = 0
    leftovers: list[str] = field(default_factory=list)
    complete: bool = False

    def count(self, window: Window) -> None:
        """Counts what a window shows once it is done with."""
        for standing in window.standings:
            self.datasets[standing.dataset_id].chunks += standing.is_live
        for listed in window.listed:
            self.datasets[listed.dataset_id].indexed += 1

    def find(self, differences: Iterable[Difference]) -> None:
        """Counts differences that were found."""
        for each in differences:
            tally = self.datasets[each.dataset_id]
            setattr(tally, each.kind, getattr(tally, each.kind) + 1)

    def leave(self, differences: Iterable[Difference]) -> None:
        """Counts differences that could not be repaired."""
        for each in differences:
            self.datasets[each.dataset_id].left += 1

    def sum(self) -> Tally:
        """Returns the counts of all datasets together, the oldest of all ages."""
        total = Tally()
        for tally in self.datasets.values():
            for each in fields(Tally):
                setattr(total, each.name, getattr(total, each.name) + getattr(tally, each.name))
        total.oldest_seconds = max((t.oldest_seconds for t in self.datasets.values()), default=0.0)
        return total
