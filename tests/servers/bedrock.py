"""Speaks Bedrock's InvokeModel for Titan Text V2, Titan Multimodal and Cohere Embed v3."""

import base64
from urllib.parse import unquote

import numpy as np

from shared.models.vectors import unit
from tests.fakes.embedder import hash_vector
from tests.servers.server import ModelServer, Reply, Request

TITAN_FIELDS = {"inputText", "dimensions", "normalize", "embeddingTypes"}
IMAGE_TITAN_FIELDS = {"inputText", "inputImage", "embeddingConfig"}
COHERE_FIELDS = {"texts", "images", "input_type", "truncate", "embedding_types"}
COHERE_INPUT_TYPES = {"search_document", "search_query", "classification", "clustering", "image"}


class BedrockServer(ModelServer):
    """Titan counts a token for each character, so that limits are easily met."""

    def __init__(self, idle_seconds: float | None = None, titan_tokens: int = 50_000) -> None:
        self.titan_tokens = titan_tokens
        super().__init__(self.embed, idle_seconds)

    def embed(self, request: Request) -> Reply:
        match unquote(request.path).split("/"):
            case ["", "model", "amazon.titan-embed-text-v2:0", "invoke"]:
                return self._embed_titan(request)
            case ["", "model", "amazon.titan-embed-image-v1", "invoke"]:
                return self._embed_titan_image(request)
            case ["", "model", "cohere.embed-multilingual-v3", "invoke"]:
                return self._embed_cohere(request)
        return refuse("ResourceNotFoundException", 404, "Could not resolve the foundation model")

    def _embed_titan(self, request: Request) -> Reply:
        body = request.body
        text = body.get("inputText", "")
        if not body.keys() <= TITAN_FIELDS or not text or len(text) > 50_000:
            return malformed("#/inputText: expected minLength: 1")
        if body.get("dimensions", 1024) not in (256, 512, 1024):
            return malformed("#/dimensions: not a valid enum value")
        if len(text) > self.titan_tokens:
            return refuse(
                "ValidationException",
                400,
                f"400 Bad Request: Too many input tokens. Max input tokens: {self.titan_tokens}, "
                f"request input token count: {len(text)} ",
            )
        vector = hash_vector(text, body.get("dimensions", 1024)).tolist()
        tokens = len(text)
        return Reply(
            {
                "embedding": vector,
                "embeddingsByType": {"float": vector},
                "inputTextTokenCount": tokens,
            }
        )

    def _embed_titan_image(self, request: Request) -> Reply:
        """Reads an image as the words that its bytes are, and counts a token for each word."""
        body = request.body
        dimension = body.get("embeddingConfig", {}).get("outputEmbeddingLength", 1024)
        if not body.keys() <= IMAGE_TITAN_FIELDS or dimension not in (256, 384, 1024):
            return malformed("#: extraneous key is not permitted")
        text, image = body.get("inputText"), body.get("inputImage")
        if text is None and image is None:
            return malformed("#: required key [inputText] not found")
        if text is not None and len(text.split()) > 256:
            return refuse("ValidationException", 400, "the text is over this model's length")
        words = [] if text is None else [text]
        words += [] if image is None else [base64.b64decode(image).decode("latin-1")]
        vector = unit(np.sum([hash_vector(each, dimension) for each in words], axis=0)).tolist()
        return Reply({"embedding": vector, "inputTextTokenCount": 1, "message": None})

    def _embed_cohere(self, request: Request) -> Reply:
        body = request.body
        texts = body.get("texts", [])
        if not body.keys() <= COHERE_FIELDS or body.get("input_type") not in COHERE_INPUT_TYPES:
            return malformed("#: required key [input_type] not found")
        if not 1 <= len(texts) <= 96:
            return malformed(f"#/texts: expected maximum item count: 96, found: {len(texts)}")
        longest = max(map(len, texts))
        if longest > 2048:
            return malformed(f"#/texts/0: expected maxLength: 2048, actual: {longest}")
        vectors = [hash_vector(text, 1024).tolist() for text in texts]
        return Reply(
            {
                "id": "7c0b7d5e",
                "texts": texts,
                "embeddings": vectors,
                "response_type": "embeddings_floats",
            }
        )


def malformed(reason: str) -> Reply:
    message = f"Malformed input request: {reason}, please reformat your input and try again."
    return refuse("ValidationException", 400, message)


def refuse(error: str, status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    kind = {"x-amzn-ErrorType": f"{error}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
    return Reply({"message": message}, status=status, headers=kind | (headers or {}))
