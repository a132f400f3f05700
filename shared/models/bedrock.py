"""Embeddings by Amazon Bedrock: Titan Text V2, Titan Multimodal and Cohere v3 Multilingual."""

import base64
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched

from shared.errors import EmbedderFailed, EmbedderRefused
from shared.model import EmbeddingSpace, Image, Vector
from shared.models.answers import read_vectors
from shared.models.bedrock_client import BedrockRuntime, InputTooLong

TITAN = "amazon.titan-embed-text-v2:0"
TITAN_DIMENSIONS = (256, 512, 1024)
TITAN_MAX_CHARACTERS = 50_000
TITAN_AT_ONCE = 4
"""Calls in flight for the passages of one document, as each call takes one text."""

IMAGE_TITAN = "amazon.titan-embed-image-v1"
IMAGE_TITAN_DIMENSIONS = (256, 384, 1024)
IMAGE_TITAN_TOKENS = 256
"""What it takes of a text; so many characters are never more tokens."""
IMAGE_TITAN_MAX_CHARACTERS = 2048

COHERE = "cohere.embed-multilingual-v3"
COHERE_DIMENSION = 1024
COHERE_MAX_CHARACTERS = 2048
COHERE_MAX_TEXTS = 96

PASSAGE_ATTEMPTS = 4


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
            except InputTooLong:
                head = head[: len(head) // 2]
        raise EmbedderFailed("Titan takes no part of this text")

    def _invoke(self, text: str, timeout: float, attempts: int) -> Vector:
        body = {"inputText": text, "dimensions": self._space.dimension, "normalize": True}
        answer = self._runtime.invoke(TITAN, body, timeout, attempts)
        return read_vectors(TITAN, [answer.get("embedding")], 1, self._space.dimension)[0]


class TitanImageEmbedder(TitanEmbedder):
    """An `ImageEmbedder` on Titan Multimodal: one space for images and short texts."""

    def embed_image(self, image: Image, text: str, timeout: float) -> Vector:
        """Returns the image's unit vector; with text, the model's average of both."""
        sent = {"inputImage": base64.b64encode(image.data).decode()}
        return self._embed_beside(text, sent, timeout, 1)

    def _embed(self, text: str, timeout: float, attempts: int) -> Vector:
        return self._embed_beside(text, {}, timeout, attempts)

    def _embed_beside(
        self, text: str, sent: dict[str, str], timeout: float, attempts: int
    ) -> Vector:
        """Embeds the longest head that the model takes, as above, whatever it says of a text."""
        deadline = time.monotonic() + timeout
        head = text[:IMAGE_TITAN_MAX_CHARACTERS]
        while True:
            left = deadline - time.monotonic()
            try:
                return self._invoke_multimodal(head, sent, left, attempts)
            except (InputTooLong, EmbedderRefused) as error:
                if len(head) <= IMAGE_TITAN_TOKENS:
                    raise EmbedderRefused(str(error) or "Titan refuses this text") from error
                head = head[: max(IMAGE_TITAN_TOKENS, len(head) // 2)]

    def _invoke_multimodal(
        self, text: str, sent: dict[str, str], timeout: float, attempts: int
    ) -> Vector:
        dimension = self._space.dimension
        body = {
            **({"inputText": text} if text else {}),
            **sent,
            "embeddingConfig": {"outputEmbeddingLength": dimension},
        }
        answer = self._runtime.invoke(IMAGE_TITAN, body, timeout, attempts)
        return read_vectors(IMAGE_TITAN, [answer.get("embedding")], 1, dimension)[0]


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
