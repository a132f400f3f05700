"""A reranker without a model: a passage scores the share of the query's words that it has."""

import re
from collections.abc import Callable, Sequence

from shared.errors import RerankerFailed


def share_words(query: str, passage: str) -> float:
    """Returns the share of the query's distinct words that the passage has."""
    wanted = set(re.findall(r"\w+", query.lower()))
    return len(wanted & set(re.findall(r"\w+", passage.lower()))) / max(1, len(wanted))


class FakeReranker:
    """Scores by `score`.

    Attributes:
        asked: every (query, passages, timeout).
        broken: what to fail with.
    """

    def __init__(
        self, score: Callable[[str, str], float] = share_words, most_passages: int = 1_000
    ) -> None:
        self.score = score
        self.most_passages = most_passages
        self.asked: list[tuple[str, list[str], float]] = []
        self.broken: str | None = None

    def rerank(self, query: str, passages: Sequence[str], timeout: float) -> Sequence[float]:
        if not passages:
            return []
        self.asked.append((query, list(passages), timeout))
        if timeout <= 0:
            raise RerankerFailed("no time was left to ask the model")
        if self.broken is not None:
            raise RerankerFailed(self.broken)
        return [self.score(query, passage) for passage in passages]
