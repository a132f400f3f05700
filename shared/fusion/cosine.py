"""An engine's vector score as the cosine it stands for."""

from shared.errors import ConfigurationError


def cosine_from_score(space_type: str, score: float) -> float:
    """Returns the cosine, in -1 to 1, behind the score of an index of this space type.

    OpenSearch's k-NN documentation (space types, lucene engine) gives the scores: cosinesimil
    (1 + cosine) / 2; l2 1 / (1 + d²), where d² = 2 - 2·cosine for unit vectors.

    Raises:
        ConfigurationError: the index declares another space type.
    """
    match space_type:
        case "cosinesimil":
            cosine = 2 * score - 1
        case "l2":
            cosine = 1 - (1 / score - 1) / 2 if score > 0 else -1.0
        case _:
            raise ConfigurationError(f"space_type: {space_type!r} is neither cosinesimil nor l2")
    return max(-1.0, min(1.0, cosine))
