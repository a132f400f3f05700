"""Embeddings by any server that speaks OpenAI's `POST {base}/embeddings`."""

import json
import time
from collections.abc import Sequence
from itertools import batched

from pydantic import SecretStr

from shared.errors import EmbedderRefused
from shared.model import EmbeddingSpace, Vector
from shared.models.answers import (
    explain_status,
    order_rows,
    parse_object,
    read_message,
    read_vectors,
)
from shared.models.transport import Transport

PASSAGE_ATTEMPTS = 4

NEVER_TOO_LONG = 256
"""Characters; no server refuses so few for their length."""

RESIZABLE = "text-embedding-3"
"""Only models of this family take `dimensions`; other servers refuse the field."""

_OK = 200


class OpenAICompatibleEmbedder:
    """An `Embedder` on `POST {base_url}/embeddings`.

    Args:
        space: its model is the name that the server knows.
        base_url: such as https://api.openai.com/v1.
        api_key: sent as bearer token; None for servers that ask for none.
        timeout: seconds for one call with passages.
        batch_size: texts in one call.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        transport: Transport,
        *,
        base_url: str,
        api_key: SecretStr | None,
        timeout: float,
        batch_size: int = 64,
    ) -> None:
        self._space = space
        self._transport = transport
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._api_key = api_key
        self._timeout = timeout
        self._batch_size = batch_size

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in."""
        return self._space

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Returns one unit vector a text; a busy server is asked again, a few times."""
        return [
            vector
            for batch in batched(texts, self._batch_size, strict=False)
            for vector in self._embed(batch, self._timeout, PASSAGE_ATTEMPTS)
        ]

    def embed_query(self, text: str, timeout: float) -> Vector:
        """Returns the query's unit vector; a busy server is not asked again.

        Of a query that is refused the longest head is embedded that is not, halving it: only the
        server counts its model's tokens.
        """
        deadline = time.monotonic() + timeout
        head = text
        while True:
            try:
                return self._embed((head,), deadline - time.monotonic(), 1)[0]
            except EmbedderRefused:
                if len(head) <= NEVER_TOO_LONG:
                    raise
                head = head[: max(NEVER_TOO_LONG, len(head) // 2)]

    def _embed(self, texts: Sequence[str], timeout: float, attempts: int) -> list[Vector]:
        model = self._space.model
        answer = self._transport.post(
            self._url, self._write_body(texts), write_headers(self._api_key), timeout, attempts
        )
        if answer.status != _OK:
            raise explain_status(model, answer.status, read_message(answer.data))
        rows = order_rows(model, parse_object(model, answer.data).get("data"), len(texts))
        return read_vectors(model, rows, len(texts), self._space.dimension)

    def _write_body(self, texts: Sequence[str]) -> bytes:
        body: dict[str, object] = {
            "model": self._space.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._space.model.startswith(RESIZABLE):
            body["dimensions"] = self._space.dimension
        return json.dumps(body).encode()


def write_headers(api_key: SecretStr | None) -> dict[str, str]:
    """Returns the headers of a call with JSON."""
    headers = {"Content-Type": "application/json"}
    if api_key is not None:
        headers["Authorization"] = f"Bearer {api_key.get_secret_value()}"
    return headers
