"""Embeddings on this machine: BGE small, English and Chinese."""

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shared.errors import EmbedderFailed
from shared.model import EmbeddingSpace, Vector
from shared.models.onnx import OnnxModel
from shared.models.vectors import unit

DIMENSIONS = {"bge-small-en-v1.5": 384, "bge-small-zh-v1.5": 512}
QUERY_PREFIXES = {
    "bge-small-en-v1.5": "Represent this sentence for searching relevant passages: ",
    "bge-small-zh-v1.5": "为这个句子生成表示以用于检索相关文章：",
}


class LocalEmbedder:
    """An `Embedder` whose vectors repeat bit for bit.

    Args:
        folder: holds model.onnx and tokenizer.json.

    Raises:
        ConfigurationError: a file is missing.
    """

    def __init__(self, space: EmbeddingSpace, folder: Path) -> None:
        self._space = space
        self._model = OnnxModel(folder)
        cores = os.process_cpu_count() or 1
        self._calls = ThreadPoolExecutor(cores, thread_name_prefix="embed")
        self._most_ahead = 2 * cores

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in."""
        return self._space

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Returns one unit vector a text; tokens after the first 512 count nothing."""
        vectors: list[Vector] = []
        ahead: deque[Future[Vector]] = deque()
        for text in texts:
            # A few at a time: those of other documents come in between, however many these are.
            if len(ahead) == self._most_ahead:
                vectors.append(ahead.popleft().result())
            ahead.append(self._calls.submit(self._embed, text))
        return vectors + [each.result() for each in ahead]

    def embed_query(self, text: str, timeout: float) -> Vector:
        """Returns the query's unit vector; a call takes milliseconds and is never cut short."""
        if timeout <= 0:
            raise EmbedderFailed("no time was left to embed the query")
        return self._embed(QUERY_PREFIXES[self._space.model] + text)

    def _embed(self, text: str) -> Vector:
        return unit(self._model.run(text)[0])  # (tokens, dimension): that of [CLS]
