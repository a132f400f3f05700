"""Rerankers behind HTTP: Cohere's and Jina's API, TEI and Bedrock's Rerank.

Each scores a passage by the share of the query's words that it has, and answers best first.
"""

import base64
import binascii
import math
from typing import Any

from tests.fakes.reranker import share_words
from tests.servers import bedrock
from tests.servers.server import ModelServer, Reply, Request

COHERE_FIELDS = {"model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"}
TEI_FIELDS = {"query", "texts", "raw_scores", "return_text", "truncate", "truncation_direction"}


def rank(scores: list[float]) -> list[tuple[int, float]]:
    """Returns (index, score), best first."""
    return sorted(enumerate(scores), key=lambda each: (-each[1], each[0]))


class CohereServer(ModelServer):
    """Takes text as Cohere does, images as jina-reranker-m0 does, and sends the documents back.

    An image is read as the words that its bytes are.
    """

    def __init__(self, idle_seconds: float | None = None) -> None:
        super().__init__(self.rerank, idle_seconds)

    def rerank(self, request: Request) -> Reply:
        body = request.body
        if request.path != "/v1/rerank":
            return Reply({"message": "not found"}, status=404)
        if unknown := body.keys() - COHERE_FIELDS:
            message = f"unknown field: parameter '{min(unknown)}' is not a valid field."
            return Reply({"message": message}, status=422)
        if not body["query"] or not body["documents"]:
            return Reply({"message": "documents must not be empty"}, status=400)
        try:
            query, *texts = map(_read_content, [body["query"], *body["documents"]])
        except (KeyError, binascii.Error) as error:
            return Reply({"message": f"invalid content: {error}"}, status=400)
        return Reply(write_results([share_words(query, text) for text in texts], texts))


def _read_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if "image" in content:
        return base64.b64decode(content["image"], validate=True).decode("latin-1")
    return str(content["text"])


def write_results(scores: list[Any], texts: list[str] | None = None) -> dict[str, Any]:
    """Returns Cohere's answer of scores that stand in the order of the passages."""
    given = texts or ["changed by the model"] * len(scores)
    finite = [each if isinstance(each, float) and math.isfinite(each) else -1.0 for each in scores]
    results = [
        {"index": n, "relevance_score": scores[n], "document": {"text": given[n].upper()}}
        for n, _ in rank(finite)
    ]
    return {"id": "07734bd2", "results": results, "meta": {"billed_units": {"search_units": 1}}}


class TeiServer(ModelServer):
    """Takes at most `most` texts a request.

    Attributes:
        most: its `--max-client-batch-size`.
    """

    def __init__(self, idle_seconds: float | None = None, most: int = 32) -> None:
        self.most = most
        super().__init__(self.rerank, idle_seconds)

    def rerank(self, request: Request) -> Reply:
        body = request.body
        if request.path != "/rerank" or not body.keys() <= TEI_FIELDS:
            return Reply({"error": "not found", "error_type": "validation"}, status=404)
        texts = body["texts"]
        if not texts:
            return Reply({"error": "`texts` cannot be empty", "error_type": "empty"}, status=400)
        if len(texts) > self.most:
            message = f"batch size {len(texts)} > maximum allowed batch size {self.most}"
            return Reply({"error": message, "error_type": "validation"}, status=413)
        if max(map(len, texts)) > 2_000 and not body.get("truncate"):
            message = "`inputs` must have less than 512 tokens"
            return Reply({"error": message, "error_type": "tokenizer"}, status=422)
        scores = [share_words(body["query"], text) for text in texts]
        if body.get("raw_scores"):
            scores = [10 * each - 5 for each in scores]
        return Reply([{"index": n, "score": score} for n, score in rank(scores)])


class BedrockRerankServer(ModelServer):
    """Answers in pages of at most `page` results.

    Attributes:
        models: the ids that this region has.
    """

    def __init__(self, idle_seconds: float | None = None, page: int = 1_000) -> None:
        self.page = page
        self.models = {"cohere.rerank-v3-5:0", "amazon.rerank-v1:0"}
        super().__init__(self.rerank, idle_seconds)

    def rerank(self, request: Request) -> Reply:
        body = request.body
        if request.path != "/rerank":
            return bedrock.refuse("ResourceNotFoundException", 404, "no such operation")
        configuration = body["rerankingConfiguration"]["bedrockRerankingConfiguration"]
        arn = configuration["modelConfiguration"]["modelArn"]
        if arn not in {f"arn:aws:bedrock:us-east-1::foundation-model/{m}" for m in self.models}:
            return bedrock.refuse("ValidationException", 400, f"The model {arn} is not supported")
        query = body["queries"][0]["textQuery"]["text"]
        documents = [each["inlineDocumentSource"] for each in body["sources"]]
        texts = [each["textDocument"]["text"] for each in documents]
        too_long = max(map(len, texts)) > 32_000 or len(query.encode("utf-16-le")) > 18_000
        if not 1 <= len(texts) <= 1_000 or too_long:
            return bedrock.refuse("ValidationException", 400, "1 validation error detected")
        ranked = rank([share_words(query, text) for text in texts])
        ranked = ranked[: configuration["numberOfResults"]]
        begin = int(body.get("nextToken", "0"))
        results = [{"index": n, "relevanceScore": score} for n, score in ranked]
        answer: dict[str, Any] = {"results": results[begin : begin + self.page]}
        if begin + self.page < len(results):
            answer["nextToken"] = str(begin + self.page)
        return Reply(answer)
