"""What every wire contract becomes, and what every answer is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.fusion.explain import Explanation
from shared.fusion.fuse import FusionPlan
from shared.fusion.rank import Dropped
from shared.metadata.conditions import Tree
from shared.model import Dataset, EmbeddingSpace, SearchMethod, Vector
from shared.postgres.retrieval import RecordText


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query, checked: everything a contract can ask for.

    Attributes:
        datasets: at least one, all of one embedding space.
        filter: the condition tree; None = no filter, and no statement for it.
        vector: the caller's own query vector, in place of the embedder's.
        top_k: the most records, a ceiling.
        deadline: seconds.
        fails_on_channel: an error if any channel fails, in place of the others' hits.
    """

    tenant_id: str
    text: str
    datasets: Sequence[Dataset]
    filter: Tree | None
    plan: FusionPlan
    top_k: int
    vector: Vector | None
    deadline: float
    fails_on_channel: bool

    @property
    def search_method(self) -> SearchMethod:
        """Which channels it asks."""
        return self.plan.search_method

    @property
    def space(self) -> EmbeddingSpace:
        """The embedding space of all its datasets."""
        return self.datasets[0].space


@dataclass(frozen=True, slots=True)
class Record:
    """One chunk of the answer.

    Attributes:
        score: the final score, shown in 0 to 1.
    """

    text: RecordText
    score: float
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Degraded:
    """A channel whose hits are missing, and why."""

    channel: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The answer to a query.

    Attributes:
        matched_documents: how many documents passed the filter; None without one.
        left_out_words: how many distinct query words the text channel did not ask for.
        timings: milliseconds a step; a step that did not run is missing.
    """

    records: Sequence[Record] = ()
    dropped: Sequence[Dropped] = ()
    degraded: Sequence[Degraded] = ()
    matched_documents: int | None = None
    left_out_words: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
