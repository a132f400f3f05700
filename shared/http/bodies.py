"""How a query's retrieval settings look on the wire: in a query, and as a dataset's defaults."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, FiniteFloat, model_validator

from shared.errors import InvalidRequest
from shared.fusion.fuse import DEFAULT_KEYWORD_SCORING
from shared.model import EmbeddingSpace, SearchMethod

MOST_TOP_K = 100

MOST_ANSWER_BYTES = 5_000_000
"""Of a body that is sent back: Lambda gives no more than 6 MB, all told."""

RERANKED = "reranking_model"
"""The method of fusion that asks a model; the weighted score stands where it fails."""

LONGEST_QUERY = 20_000
"""In characters."""

QueryText = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, pattern=r"\S")]

Numbers = Annotated[list[FiniteFloat], FailFast()]
"""A vector as it is sent; of what is wrong in it, the first is told."""


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


class RerankingModelBody(Body):
    """Which reranking model scores the candidates."""

    provider: Annotated[str, Field(min_length=1, max_length=100)]
    model: Annotated[str, Field(min_length=1, max_length=2_048)]


class FusionBody(Body):
    """How the candidates are scored; all methods but reranking_model belong to hybrid_search."""

    method: Literal["weighted_score", "rrf", "reranking_model", "none"] = "weighted_score"
    weights: WeightsBody | None = None
    keyword_scoring: Literal["dify", "bm25"] = DEFAULT_KEYWORD_SCORING.value
    rank_constant: Annotated[int, Field(ge=1, le=10_000)] = 60
    reranking_model: RerankingModelBody | None = None

    @model_validator(mode="after")
    def _rerank_by_method(self) -> Self:
        if self.reranking_model is not None and self.method != RERANKED:
            raise ValueError("reranking_model belongs to the method reranking_model")
        return self


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
