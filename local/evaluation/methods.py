"""The ways to search that are measured, and what each one's requests say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.languages import ENGLISH

DEFAULT = "default"
"""The method that the others are compared with: a request that says nothing of fusion."""

RERANKED_QUERIES = 100
"""A reranking model takes seconds a query on this machine."""

_WEIGHTS = ((0.7, 0.3), (0.5, 0.5), (0.3, 0.7))


@dataclass(frozen=True, slots=True)
class Method:
    """One way to search.

    Attributes:
        request: what its requests say beside the query.
        most_queries: only so many of the first are asked; None for all.
        only_for: the local embedding model of the language that it knows; None for any.
    """

    request: Mapping[str, Any] = field(default_factory=dict)
    most_queries: int | None = None
    only_for: str | None = None


def _weigh() -> Iterator[tuple[str, Method]]:
    for scoring in ("dify", "bm25"):
        for vector, keyword in _WEIGHTS:
            weights = {"vector": vector, "keyword": keyword}
            fusion = {"keyword_scoring": scoring, "weights": weights}
            yield f"{scoring}-{vector}-{keyword}", Method({"fusion": fusion})


_RERANKER = {"provider": "local", "model": "ms-marco-MiniLM-L-12-v2"}

METHODS: Mapping[str, Method] = {
    DEFAULT: Method(),
    "text": Method({"search_method": "full_text_search"}),
    "vector": Method({"search_method": "semantic_search"}),
    **dict(_weigh()),
    "rrf": Method({"fusion": {"method": "rrf"}}),
    "rerank": Method(
        {"fusion": {"method": "reranking_model", "reranking_model": _RERANKER}},
        most_queries=RERANKED_QUERIES,
        only_for=ENGLISH,
    ),
}
"""By name; weights are of vector and keywords."""
