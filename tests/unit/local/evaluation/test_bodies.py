from collections.abc import Sequence
from pathlib import Path

import numpy as np

from local.evaluation.bodies import DocumentBodies
from local.evaluation.vectors import KeptVectors, Role
from shared.model import EmbeddingSpace, Vector


class Embedder:
    space = EmbeddingSpace("local", "m", 2)

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [np.array([len(text), 1], np.float32) for text in texts]

    def embed_query(self, text: str, timeout: float) -> Vector:
        raise NotImplementedError


def test_a_document_is_one_chunk_with_its_vector(tmp_path: Path) -> None:
    with KeptVectors(tmp_path, Embedder()) as vectors:
        vectors.fill(Role.PASSAGE, ["one", "two words"], lambda _: None)
        bodies = DocumentBodies({"7": "one", "8": "two words"}, vectors)
        assert len(bodies) == 2
        assert list(bodies) == [
            {"name": "7", "external_id": "7", "chunks": [{"text": "one", "vector": [3.0, 1.0]}]},
            {
                "name": "8",
                "external_id": "8",
                "chunks": [{"text": "two words", "vector": [9.0, 1.0]}],
            },
        ]
        assert bodies[1:] == [bodies[1]]
