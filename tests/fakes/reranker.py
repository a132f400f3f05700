"""A reranker without a model: a passage scores the share of the query's words that it has."""

import re
from collections.abc import Callable, Sequence

from shared.errors import RerankerFailed
from shared.model import Image


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


class FakeRerankers:
    """Gives the same reranker to whoever asks.

    Attributes:
        named: every (provider, model) that was asked for.
    """

    def __init__(self, reranker: FakeReranker | None = None) -> None:
        self.reranker = reranker or FakeReranker()
        self.named: list[tuple[str | None, str | None]] = []

    def __call__(self, provider: str | None, model: str | None) -> FakeReranker:
        self.named.append((provider, model))
        return self.reranker


class FakeImageReranker(FakeReranker):
    """Reads an image as the words that its bytes are; with text, the mean of both.

    Attributes:
        images: all that it was asked about.
    """

    def __init__(self) -> None:
        super().__init__()
        self.images: list[Image] = []

    def rerank_image(
        self, image: Image, text: str, passages: Sequence[str], timeout: float
    ) -> Sequence[float]:
        self.images.append(image)
        queries = [image.data.decode("latin-1"), *([text] if text else [])]
        scored = [self.rerank(query, passages, timeout) for query in queries]
        return [sum(each) / len(each) for each in zip(*scored, strict=True)]
