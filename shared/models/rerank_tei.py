"""Reranking by Hugging Face Text Embeddings Inference: `POST {base}/rerank`."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched

from shared.errors import RerankerFailed
from shared.models.answers import explain_status, read_message
from shared.models.api_key import FindKey
from shared.models.openai_compatible import write_headers
from shared.models.scores import read_scores
from shared.models.transport import Transport

MOST_PASSAGES = 1_000
MOST_CHARACTERS = 16_000
"""Of a text; the server cuts it further, to its model's tokens."""

BATCH = 32
"""Passages of one request: what a server takes unless its `--max-client-batch-size` says more."""

AT_ONCE = 4
_OK, _TOO_LARGE = 200, 413


class TeiReranker:
    """A `Reranker` on a TEI server; asked once, since a query can't wait.

    Several requests carry many passages, some at once. Where the server takes fewer a request than
    we thought (413), they are halved, and stay so.

    Args:
        model: how errors name it; a server has one model.
        transport: whose failure is `RerankerFailed`.
        base_url: such as http://tei.internal:8080.
        find_key: called when it is asked; the key is sent as bearer token, None is no key.
    """

    most_passages = MOST_PASSAGES

    def __init__(
        self, model: str, transport: Transport, *, base_url: str, find_key: FindKey
    ) -> None:
        self._model = model
        self._transport = transport
        self._url = f"{base_url.rstrip('/')}/rerank"
        self._find_key = find_key
        self._batch = BATCH
        self._calls = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="tei")

    def rerank(self, query: str, passages: Sequence[str], timeout: float) -> Sequence[float]:
        """Returns the score of each passage: its logit through the server's logistic function."""
        deadline = time.monotonic() + timeout
        batches = list(batched(passages, self._batch, strict=False))
        scored = self._calls.map(lambda batch: self._score(query, batch, deadline), batches)
        return [score for batch in scored for score in batch]

    def _score(self, query: str, passages: Sequence[str], deadline: float) -> list[float]:
        answer = self._transport.post(
            self._url,
            _write_body(query, passages),
            write_headers(self._find_key()),
            deadline - time.monotonic(),
            1,
        )
        if answer.status == _TOO_LARGE and len(passages) > 1:
            half = len(passages) // 2
            self._batch = min(self._batch, half)
            halves = (passages[:half], passages[half:])
            return [score for each in halves for score in self._score(query, each, deadline)]
        if answer.status != _OK:
            message = read_message(answer.data)
            raise explain_status(self._model, answer.status, message, RerankerFailed)
        return read_scores(self._model, self._parse(answer.data), "score", len(passages))

    def _parse(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise RerankerFailed(f"the server of {self._model} answered what is no JSON") from error


def _write_body(query: str, passages: Sequence[str]) -> bytes:
    body = {
        "query": query[:MOST_CHARACTERS],
        "texts": [passage[:MOST_CHARACTERS] for passage in passages],
        "raw_scores": False,
        "return_text": False,
        "truncate": True,
    }
    return json.dumps(body).encode()
