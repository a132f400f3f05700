"""Reranking by Amazon Bedrock's Rerank: Cohere Rerank 3.5 and Amazon Rerank 1.0."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from shared.models.bedrock_client import BedrockClient
from shared.models.scores import read_scores

MODELS = ("cohere.rerank-v3-5:0", "amazon.rerank-v1:0")
SERVICE = "bedrock-agent-runtime"
MOST_PASSAGES = 1_000
MOST_CHARACTERS = 32_000
"""Of a text. What its tokens are too many for, the model itself leaves out."""

MOST_QUERY_UNITS = 9_000
"""Of a query, in UTF-16 code units: no document of AWS's says it, the service refuses more."""


class BedrockReranker:
    """A `Reranker` on Rerank; asked once, since a query can't wait.

    Args:
        model: one of `MODELS`.
        open_client: called at each call, for boto3 takes long to load; gives a client of
            `SERVICE`, the same each time, whose transport's failure is `RerankerFailed`.
    """

    most_passages = MOST_PASSAGES

    def __init__(self, model: str, open_client: Callable[[], BedrockClient]) -> None:
        self._model = model
        self._open_client = open_client

    def rerank(self, query: str, passages: Sequence[str], timeout: float) -> Sequence[float]:
        """Returns the score of each passage; its answer may come in pages."""
        if not passages:
            return []
        deadline = time.monotonic() + timeout
        client = self._open_client()
        request = _write_request(query, passages, client.name_model(self._model))
        items: list[Any] = []
        while len(items) < len(passages):
            left = deadline - time.monotonic()
            page = client.ask_once(self._model, "rerank", left, **request)
            items += page.get("results", ())
            token = page.get("nextToken")
            if not token or not page.get("results"):
                break
            request["nextToken"] = token
        return read_scores(self._model, items, "relevanceScore", len(passages))


def _write_request(query: str, passages: Sequence[str], arn: str) -> dict[str, Any]:
    configuration = {
        "numberOfResults": len(passages),
        "modelConfiguration": {"modelArn": arn},
    }
    return {
        "queries": [{"type": "TEXT", "textQuery": {"text": _cut_query(query)}}],
        "sources": [
            {
                "type": "INLINE",
                "inlineDocumentSource": {"type": "TEXT", "textDocument": _write_text(passage)},
            }
            for passage in passages
        ],
        "rerankingConfiguration": {
            "type": "BEDROCK_RERANKING_MODEL",
            "bedrockRerankingConfiguration": configuration,
        },
    }


def _cut_query(query: str) -> str:
    return query.encode("utf-16-le")[: 2 * MOST_QUERY_UNITS].decode("utf-16-le", "ignore")


def _write_text(text: str) -> dict[str, str]:
    return {"text": text[:MOST_CHARACTERS]}
