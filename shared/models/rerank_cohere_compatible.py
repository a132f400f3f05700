"""Reranking by any server that speaks Cohere's and Jina's `POST {base}/rerank`."""

import base64
import json
import time
from collections.abc import Sequence

from shared.errors import RerankerFailed
from shared.model import Image
from shared.models.answers import explain_status, parse_object, read_message
from shared.models.api_key import FindKey
from shared.models.openai_compatible import write_headers
from shared.models.scores import read_scores
from shared.models.transport import Transport

MOST_PASSAGES = 1_000
MOST_CHARACTERS = 16_000
"""Of a text; what its tokens are too many for, most servers leave out."""

IMAGE_MODELS = ("jina-reranker-m0",)
"""Those that take {"image": ...} in place of a query's text."""

type Asked = str | dict[str, str]

_OK = 200


class CohereCompatibleReranker:
    """A `Reranker` on `POST {base_url}/rerank`; asked once, since a query can't wait.

    Args:
        model: the name that the server knows.
        transport: whose failure is `RerankerFailed`.
        base_url: such as https://api.cohere.com/v2 or https://api.jina.ai/v1.
        find_key: called when it is asked; the key is sent as bearer token, None is no key.
        gives_logits: whether its scores are logits, as those of llama.cpp are.
    """

    most_passages = MOST_PASSAGES

    def __init__(
        self,
        model: str,
        transport: Transport,
        *,
        base_url: str,
        find_key: FindKey,
        gives_logits: bool = False,
    ) -> None:
        self._model = model
        self._transport = transport
        self._url = f"{base_url.rstrip('/')}/rerank"
        self._find_key = find_key
        self._gives_logits = gives_logits

    def rerank(self, query: str, passages: Sequence[str], timeout: float) -> Sequence[float]:
        """Returns the score of each passage."""
        return self._score(_cut(query), [_cut(passage) for passage in passages], timeout)

    def _score(self, query: Asked, passages: Sequence[Asked], timeout: float) -> Sequence[float]:
        if not passages:
            return []
        body = {
            "model": self._model,
            "query": query,
            "documents": passages,
            "top_n": len(passages),
        }  # and no more: Cohere refuses a field that it does not know
        answer = self._transport.post(
            self._url, json.dumps(body).encode(), write_headers(self._find_key()), timeout, 1
        )
        if answer.status != _OK:
            message = read_message(answer.data)
            raise explain_status(self._model, answer.status, message, RerankerFailed)
        items = parse_object(self._model, answer.data, RerankerFailed).get("results")
        return read_scores(
            self._model,
            items,
            "relevance_score",
            len(passages),
            are_logits=self._gives_logits,
        )


class CohereCompatibleImageReranker(CohereCompatibleReranker):
    """An `ImageReranker` on the same API, of one of `IMAGE_MODELS`."""

    def rerank_image(
        self, image: Image, text: str, passages: Sequence[str], timeout: float
    ) -> Sequence[float]:
        """Returns the score of each passage; with text, the mean of the text's and the image's.

        A query of the API is one or the other.
        """
        deadline = time.monotonic() + timeout
        documents = [{"text": _cut(passage)} for passage in passages]
        queries: list[Asked] = [{"image": base64.b64encode(image.data).decode()}]
        queries += [_cut(text)] if text else []
        scored = [self._score(q, documents, deadline - time.monotonic()) for q in queries]
        return [sum(each) / len(each) for each in zip(*scored, strict=True)]


def _cut(text: str) -> str:
    return text[:MOST_CHARACTERS]
