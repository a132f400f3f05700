"""Passages → vectors: only for chunks that are new, and only where the sender brought none."""

from collections.abc import Sequence

import numpy as np

from shared.errors import DocumentRefused, EmbedderRefused
from shared.model import EmbeddingSpace, Passage, Vector
from shared.models.vectors import VectorRefused, as_vector
from shared.ports import Embedder


def embed(
    space: EmbeddingSpace, passages: Sequence[Passage], embedder: Embedder | None
) -> list[Vector | None]:
    """Returns one vector a passage, in their order; None for all in a space without vectors.

    Raises:
        DocumentRefused: a chunk brings no vector to a space that has no embedder, or the embedder
            refuses a text or gives what is no vector of the space.
        EmbedderFailed: the model does not answer now.
    """
    if not space.has_vectors:
        return [None] * len(passages)
    missing = [n for n, passage in enumerate(passages) if passage.vector is None]
    vectors: list[Vector | None] = [passage.vector for passage in passages]
    if not missing:
        return vectors
    if embedder is None:
        raise DocumentRefused(
            "embedding", f"chunk {missing[0]} brings no vector, and this dataset embeds none itself"
        )
    try:
        made = embedder.embed_passages([passages[n].searchable_text for n in missing])
    except EmbedderRefused as error:
        raise DocumentRefused("embedding", str(error)) from error
    if len(made) != len(missing):
        raise DocumentRefused(
            "embedding", f"the model gave {len(made)} vectors for {len(missing)} chunks"
        )
    for n, vector in zip(missing, made, strict=True):
        vectors[n] = _check(vector, space, passages[n].position)
    return vectors


def _check(vector: Vector, space: EmbeddingSpace, position: int) -> Vector:
    try:
        return as_vector(np.asarray(vector), space.dimension, f"the vector of chunk {position}")
    except VectorRefused as error:
        raise DocumentRefused("embedding", str(error)) from error
