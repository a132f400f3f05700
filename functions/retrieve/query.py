"""What every wire contract becomes, and what every answer is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shared.fusion.explain import Explanation
from shared.fusion.fuse import FusionPlan
from shared.fusion.rank import Dropped
from shared.metadata.conditions import Joiner, Tree
from shared.model import Dataset, Image, JsonObject, SearchMethod, Vector
from shared.postgres.retrieval import RecordText


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomaticFilter:
    """That a chat model is to find the filter in the query.

    Attributes:
        joiner: how its conditions combine.
        on_failure: what happens where there is none that can be used.
        provider: of the model; None = the settings' own, as with `model`.
    """

    joiner: Joiner
    on_failure: Literal["unfiltered", "empty", "error"]
    provider: str | None
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What automatic mode came to.

    Attributes:
        tree: the filter; None where there is none.
        conditions: of the filter, as a request in manual mode would have them.
        dropped: what the model answered beside them, each with the reason.
        failure: why there is no filter; None where there is one.
        empty: without a filter nothing may be found.
    """

    tree: Tree | None = None
    conditions: Sequence[JsonObject] = ()
    joiner: Joiner
    dropped: Sequence[tuple[Any, str]] = ()
    failure: str | None = None
    empty: bool = False

    def as_asked(self) -> JsonObject | None:
        """Returns the filter as a request in manual mode would have it."""
        if self.tree is None:
            return None
        return {"logical_operator": self.joiner.value, "conditions": list(self.conditions)}


@dataclass(frozen=True, slots=True)
class Reranking:
    """That a model scores the candidates, and which: None = the settings' own."""

    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query, checked: everything a contract can ask for.

    Attributes:
        datasets: at least one.
        filter: the condition tree; None = no filter, and no statement for it.
        automatic: a filter that is still to be found, in place of one.
        text: its words; "" where an image is all of it.
        image: what it asks about beside its words.
        plan: how candidates are scored, before a reranking model or without one.
        reranking: the model whose scores are the final ones.
        condition: the same filter as it was asked, {"logical_operator", "conditions"}, for external
            bases, which read it themselves.
        vector: the caller's own query vector, in place of the embedder's; only where the datasets
            are of one embedding space.
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
    condition: JsonObject | None = None
    automatic: AutomaticFilter | None = None
    image: Image | None = None
    reranking: Reranking | None = None

    @property
    def search_method(self) -> SearchMethod:
        """Which channels it asks."""
        return self.plan.search_method

    @property
    def own(self) -> Sequence[Dataset]:
        """Its datasets that are no external bases."""
        return [dataset for dataset in self.datasets if dataset.external is None]


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
        applied: what automatic mode came to; None in other modes.
        matched_documents: how many documents passed the filter; None without one.
        left_out_words: how many distinct query words the text channel did not ask for.
        timings: milliseconds a step; a step that did not run is missing.
    """

    records: Sequence[Record] = ()
    dropped: Sequence[Dropped] = ()
    degraded: Sequence[Degraded] = ()
    applied: Applied | None = None
    matched_documents: int | None = None
    left_out_words: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
