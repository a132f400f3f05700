"""What the engine's numbers mean. Pure."""

import math

K1 = 1.2
"""BM25: how soon a repeated word stops counting. The engine multiplies each score by K1 + 1."""

B = 0.75
"""BM25: how much long texts are held back."""


def cosine_from_score(space_type: str, score: float) -> float:
    """Returns the cosine behind a score, by the space that the index declares.

    Args:
        space_type: `cosinesimil`, or `l2` over unit-length vectors.
        score: what the engine gave: (1 + cosine) / 2, or 1 / (1 + squared distance).

    Raises:
        ValueError: for another space.
    """
    match space_type:
        case "cosinesimil":
            return 2 * score - 1
        case "l2":
            return 1 - (1 / score - 1) / 2
        case _:
            raise ValueError(f"no cosine is known for the space {space_type}")


def inverse_document_frequency(chunks: int, holding: int) -> float:
    """Returns Lucene's idf of a word: ln(1 + (N - n + 0.5) / (n + 0.5)).

    Args:
        chunks: N, chunks with text.
        holding: n, those of them that hold the word.
    """
    return math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))
