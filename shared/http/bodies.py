"""How a query's retrieval settings look on the wire: in a query, and as a dataset's defaults."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from shared.errors import InvalidRequest
from shared.fusion.fuse import DEFAULT_KEYWORD_SCORING
from shared.model import EmbeddingSpace, SearchMethod

MOST_TOP_K = 100

QueryText = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]


class Body(BaseModel):
    """A body whose unknown fields are refused and whose values are never converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class WeightsBody(Body):
    """How much each component counts: finite, not negative, both given, not both 0."""

    vector: Annotated[FiniteFloat, Field(ge=0)]
    keyword: Annotated[FiniteFloat, Field(ge=0)]

    @model_validator(mode="after")
    def _weigh_something(self) -> Self:
        if self.vector == 0 and self.keyword == 0:
            raise ValueError("the weights are both 0")
        return self


class FusionBody(Body):
    """How the candidates of a hybrid search are scored."""

    method: Literal["weighted_score", "rrf", "reranking_model", "none"] = "weighted_score"
    weights: WeightsBody | None = None
    keyword_scoring: Literal["dify", "bm25"] = DEFAULT_KEYWORD_SCORING.value
    rank_constant: Annotated[int, Field(ge=1, le=10_000)] = 60
    reranking_model: dict[str, Any] | None = None


def check_available(fusion: FusionBody | None, pointer: str) -> None:
    """Raises `InvalidRequest` where a fusion asks for what is not there yet."""
    if fusion is None:
        return
    if fusion.method == "reranking_model" or fusion.reranking_model is not None:
        raise InvalidRequest.at(f"{pointer}/method", "reranking models are not available yet")


NEEDS_VECTORS = {SearchMethod.SEMANTIC, SearchMethod.HYBRID}


def check_method(method: SearchMethod, space: EmbeddingSpace, pointer: str) -> None:
    """Raises `InvalidRequest` where a method asks for vectors that there are none of."""
    if method in NEEDS_VECTORS and not space.has_vectors:
        raise InvalidRequest.at(
            pointer, "an economy dataset takes keyword_search and full_text_search only"
        )


class RetrievalBody(Body):
    """The settings that a dataset may hold as defaults for its queries."""

    search_method: Literal[
        "hybrid_search", "semantic_search", "full_text_search", "keyword_search"
    ] = "hybrid_search"
    top_k: Annotated[int, Field(ge=1, le=MOST_TOP_K)] = 4
    score_threshold: Annotated[FiniteFloat, Field(ge=-1, le=1)] | None = None
    fusion: FusionBody | None = None
