"""Speaks Bedrock's InvokeModel for Titan Text Embeddings V2 and Cohere Embed v3."""

from urllib.parse import unquote

from tests.fakes.embedder import hash_vector
from tests.servers.server import ModelServer, Reply, Request

TITAN_FIELDS = {"inputText", "dimensions", "normalize", "embeddingTypes"}
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
