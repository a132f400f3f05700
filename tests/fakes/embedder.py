"""An embedder without a model: texts that share words are near."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from shared.errors import EmbedderFailed
from shared.model import EmbeddingSpace, Image, Vector
from shared.models.vectors import unit


def hash_vector(text: str, dimension: int) -> Vector:
    """Returns the unit sum of a pseudo-random direction for each word, and a faint common one."""
    words = re.findall(r"\w+", text.lower())
    return unit(sum((_direction(w, dimension) for w in words), 1e-3 * _direction("", dimension)))


def _direction(word: str, dimension: int) -> Vector:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


class FakeEmbedder:
    def __init__(self, space: EmbeddingSpace) -> None:
        self.space = space
        self.passages: list[str] = []  # all that were ever embedded
        self.broken: str | None = None  # what to fail with

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        self._check()
        self.passages.extend(texts)
        return [hash_vector(text, self.space.dimension) for text in texts]

    def embed_query(self, text: str, timeout: float) -> Vector:
        if timeout <= 0:
            raise EmbedderFailed("no time was left to embed the text")
        self._check()
        return hash_vector(text, self.space.dimension)

    def _check(self) -> None:
        if self.broken is not None:
            raise EmbedderFailed(self.broken)


class FakeImageEmbedder(FakeEmbedder):
    """Reads an image as the words that its bytes are.

    Attributes:
        images: all that it was asked about.
    """

    def __init__(self, space: EmbeddingSpace) -> None:
        super().__init__(space)
        self.images: list[Image] = []

    def embed_image(self, image: Image, text: str, timeout: float) -> Vector:
        self.images.append(image)
        return self.embed_query(f"{image.data.decode('latin-1')} {text}", timeout)
