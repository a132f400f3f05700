"""External knowledge bases: asked at once with the channels, each failing alone.

Each hit keeps the score that its base gave it, held between 0 and 1.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass

from functions.retrieve.pool import LATE, Pool, collect, tell
from functions.retrieve.query import Degraded, Query
from shared.errors import Unavailable, WinnowError
from shared.fusion.deduplicate import identify
from shared.fusion.explain import Explanation
from shared.fusion.rank import Scored, shown_score
from shared.http.bodies import MOST_TOP_K
from shared.model import (
    Dataset,
    ExternalAnswer,
    ExternalBase,
    ExternalHit,
    ExternalQuestion,
    Standing,
)
from shared.ports import ExternalSearch
from shared.postgres.retrieval import Generation, RecordText
from shared.telemetry import log_failure

type Asked = Mapping[str, Future[ExternalAnswer] | None]
"""The external datasets that were asked, by id; None where no thread was free."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What the external bases that answered in time found.

    Attributes:
        scored: their hits, each text of a source once.
        texts: what the hits are, by the same ids.
        degraded: the bases that did not answer, and records that had to be left out.
    """

    scored: Sequence[Scored]
    texts: Mapping[str, RecordText]
    degraded: Sequence[Degraded]


def name_channel(dataset_id: str) -> str:
    """Returns how an external base is called among the channels."""
    return f"external:{dataset_id}"


def ask_external(query: Query, search: ExternalSearch, pool: Pool, deadline: float) -> Asked:
    """Starts asking each external base of the query.

    Args:
        query: what is asked.
        search: how bases are asked.
        pool: the threads.
        deadline: on the monotonic clock.
    """
    # A reranking model needs the same candidates whatever top_k is, and the threshold is on its
    # scores.
    is_reranked = query.reranking is not None
    question = ExternalQuestion(
        query=query.text,
        top_k=MOST_TOP_K if is_reranked else query.top_k,
        threshold=0.0 if is_reranked else max(0.0, query.plan.threshold or 0.0),
        condition=query.condition,
    )
    return {
        dataset.id: pool.start(_ask(dataset.external, question, search, deadline))
        for dataset in query.datasets
        if dataset.external is not None
    }


def join_external(query: Query, asked: Asked, deadline: float, *, is_alone: bool) -> Joined:
    """Waits for the bases, not past the deadline.

    Args:
        query: what was asked.
        asked: of `ask_external`.
        deadline: on the monotonic clock.
        is_alone: nobody else answered the query.

    Raises:
        Unavailable: no base answered and nobody else did; or one did not, and the query wants an
            error then.
    """
    wait([each for each in asked.values() if each], timeout=max(0.0, deadline - time.monotonic()))
    answers: dict[str, ExternalAnswer] = {}
    failed: list[Degraded] = []
    for id_, future in asked.items():
        try:
            answers[id_] = collect(future)
        except WinnowError as error:
            log_failure("a channel failed", error, channel=name_channel(id_))
            failed.append(Degraded(name_channel(id_), tell(error)))
    if failed and (query.fails_on_channel or (is_alone and not answers)):
        raise Unavailable("; ".join(f"{each.channel}: {each.reason}" for each in failed))
    found = [
        each
        for dataset in query.datasets
        if dataset.id in answers
        for each in _score(dataset, answers[dataset.id].hits, query.plan.threshold)
    ]
    return Joined(
        [scored for scored, _ in found],
        {scored.chunk_id: text for scored, text in found},
        [*failed, *_tell_left_out(answers)],
    )


def _ask(
    base: ExternalBase, question: ExternalQuestion, search: ExternalSearch, deadline: float
) -> Callable[[], ExternalAnswer]:
    def ask() -> ExternalAnswer:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unavailable(LATE)
        return search.retrieve(base, question, left)

    return ask


def _score(
    dataset: Dataset, hits: Sequence[ExternalHit], threshold: float | None
) -> Iterator[tuple[Scored, RecordText]]:
    """Yields a base's hits, the same text of the same source once, with their ids in this query."""
    first: dict[str, ExternalHit] = {}
    for hit in hits:
        source = f"{dataset.id} {hit.source or hit.title}"
        first.setdefault(identify(source, hit.content), hit)
    for rank, (id_, hit) in enumerate(first.items(), start=1):
        score = shown_score(hit.score)
        explanation = Explanation(
            channels={name_channel(dataset.id): Standing(rank, hit.score)},
            final_score=score,
            threshold=threshold,
        )
        yield Scored(id_, score, explanation), _show(dataset, hit)


def _show(dataset: Dataset, hit: ExternalHit) -> RecordText:
    return RecordText(
        chunk_id=None,
        document_id=None,
        dataset_id=dataset.id,
        content=hit.content,
        title=hit.title,
        metadata=hit.metadata,
        position=None,
        page=None,
        source=hit.source,
        generation=Generation.BOTH,
    )


def _tell_left_out(answers: Mapping[str, ExternalAnswer]) -> Iterator[Degraded]:
    for id_, answer in answers.items():
        if answer.left_out:
            count = len(answer.hits) + answer.left_out
            reason = f"{answer.left_out} of its {count} records have no readable text: left out"
            yield Degraded(name_channel(id_), reason)
