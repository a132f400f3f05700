"""Amazon Bedrock: its runtime, and embeddings by Titan Text V2 and Cohere v3 Multilingual."""

import io
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from typing import Any

from urllib3 import HTTPResponse

from shared.errors import ConfigurationError, EmbedderFailed
from shared.model import EmbeddingSpace, Vector
from shared.models.answers import explain_status, parse_object, read_vectors
from shared.models.transport import Transport

TITAN = "amazon.titan-embed-text-v2:0"
TITAN_DIMENSIONS = (256, 512, 1024)
TITAN_MAX_CHARACTERS = 50_000
TITAN_AT_ONCE = 4
"""Calls in flight for the passages of one document, as each call takes one text."""

COHERE = "cohere.embed-multilingual-v3"
COHERE_DIMENSION = 1024
COHERE_MAX_CHARACTERS = 2048
COHERE_MAX_TEXTS = 96

PASSAGE_ATTEMPTS = 4


class _InputTooLong(Exception):
    """The text has more tokens than the model takes."""


class BedrockRuntime:
    """InvokeModel and Converse through one boto3 client, each call inside a time limit of its own.

    botocore fixes a client's timeouts when it makes the client, but a query has only what is left
    of its request's time. So botocore signs and parses, and `Transport` sends.

    Args:
        endpoint_url: another address than the region's own.
    """

    def __init__(self, transport: Transport, endpoint_url: str | None = None) -> None:
        from boto3.session import Session  # noqa: PLC0415, long to load, and only Bedrock needs it
        from botocore.config import Config  # noqa: PLC0415
        from botocore.exceptions import NoRegionError  # noqa: PLC0415

        self._transport = transport
        self._call = threading.local()
        try:
            self._client = Session().client(
                "bedrock-runtime",
                endpoint_url=endpoint_url,
                config=Config(retries={"total_max_attempts": 1}),
            )
        except NoRegionError as error:
            raise ConfigurationError("AWS_DEFAULT_REGION is not set") from error
        self._client.meta.events.register("before-send.bedrock-runtime", self._send)

    def invoke(
        self, model: str, body: dict[str, Any], timeout: float, attempts: int
    ) -> dict[str, Any]:
        """Returns the model's answer to a body.

        Raises:
            Unavailable: as the transport's failure: the model does not answer, or refuses.
            _InputTooLong: the text has too many tokens.
        """
        self._call.limits = {"timeout": timeout, "attempts": attempts}
        answer = self._ask(
            model,
            self._client.invoke_model,
            modelId=model,
            body=json.dumps(body),
            contentType="application/json",
            accept="application/json",
        )
        return parse_object(model, answer["body"].read(), self._transport.failure)

    def converse(self, model: str, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Returns what a chat model answers; a busy one is not asked again.

        Raises:
            Unavailable: as the transport's failure: the model does not answer, or refuses.
        """
        self._call.limits = {"timeout": timeout, "attempts": 1}
        try:
            return self._ask(model, self._client.converse, modelId=model, **request)
        except _InputTooLong as error:
            raise self._transport.failure(f"the text is too long for {model}") from error

    def _ask(self, model: str, operation: Callable[..., Any], **parameters: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        try:
            return dict(operation(**parameters))
        except ClientError as error:
            raise self._explain(model, error.response) from error
        except BotoCoreError as error:
            reason = type(error).__name__
            raise self._transport.failure(f"Bedrock can't be called: {reason}") from error
        except (ResponseParserError, AttributeError, LookupError, TypeError, ValueError) as error:
            # botocore's parser does not expect an answer of another shape
            raise self._transport.failure(f"{model} gave an answer of another shape") from error

    def _explain(self, model: str, response: dict[str, Any]) -> Exception:
        status = response["ResponseMetadata"]["HTTPStatusCode"]
        message = response["Error"].get("Message") or ""
        if "too many input tokens" in message.lower():
            return _InputTooLong()
        return explain_status(model, status, message, self._transport.failure)

    def _send(self, request: Any, **_: object) -> Any:
        from botocore.awsrequest import AWSResponse  # noqa: PLC0415

        answer = self._transport.post(
            request.url, request.body, dict(request.headers), **self._call.limits
        )
        raw = HTTPResponse(io.BytesIO(answer.data), preload_content=False)
        return AWSResponse(request.url, answer.status, answer.headers, raw)


class TitanEmbedder:
    """An `Embedder` on Titan: one text a call, texts cut to what it takes (8,192 of its tokens)."""

    def __init__(self, space: EmbeddingSpace, runtime: BedrockRuntime, *, timeout: float) -> None:
        self._space = space
        self._runtime = runtime
        self._timeout = timeout
        self._calls = ThreadPoolExecutor(TITAN_AT_ONCE, thread_name_prefix="titan")

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in."""
        return self._space

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Returns one unit vector a text; a busy model is asked again, a few times."""
        return list(
            self._calls.map(lambda t: self._embed(t, self._timeout, PASSAGE_ATTEMPTS), texts)
        )

    def embed_query(self, text: str, timeout: float) -> Vector:
        """Returns the query's unit vector; a busy model is not asked again."""
        return self._embed(text, timeout, 1)

    def _embed(self, text: str, timeout: float, attempts: int) -> Vector:
        """Embeds the longest head that the model takes, halving it: only the model counts."""
        deadline = time.monotonic() + timeout
        head = text[:TITAN_MAX_CHARACTERS]
        while head:
            try:
                return self._invoke(head, deadline - time.monotonic(), attempts)
            except _InputTooLong:
                head = head[: len(head) // 2]
        raise EmbedderFailed("Titan takes no part of this text")

    def _invoke(self, text: str, timeout: float, attempts: int) -> Vector:
        body = {"inputText": text, "dimensions": self._space.dimension, "normalize": True}
        answer = self._runtime.invoke(TITAN, body, timeout, attempts)
        return read_vectors(TITAN, [answer.get("embedding")], 1, self._space.dimension)[0]


class CohereEmbedder:
    """An `Embedder` on Cohere: batches of 96, each text cut to 2,048 characters and 512 tokens."""

    def __init__(self, space: EmbeddingSpace, runtime: BedrockRuntime, *, timeout: float) -> None:
        self._space = space
        self._runtime = runtime
        self._timeout = timeout

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in."""
        return self._space

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Returns one unit vector a text; a busy model is asked again, a few times."""
        return [
            vector
            for batch in batched(texts, COHERE_MAX_TEXTS, strict=False)
            for vector in self._embed(batch, "search_document", self._timeout, PASSAGE_ATTEMPTS)
        ]

    def embed_query(self, text: str, timeout: float) -> Vector:
        """Returns the query's unit vector; a busy model is not asked again."""
        return self._embed((text,), "search_query", timeout, 1)[0]

    def _embed(
        self, texts: Sequence[str], input_type: str, timeout: float, attempts: int
    ) -> list[Vector]:
        body = {
            "texts": [text[:COHERE_MAX_CHARACTERS] for text in texts],
            "input_type": input_type,
            "truncate": "END",
        }
        answer = self._runtime.invoke(COHERE, body, timeout, attempts)
        return read_vectors(COHERE, answer.get("embeddings"), len(texts), self._space.dimension)
