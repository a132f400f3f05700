"""Speaks OpenAI's embeddings API, with the fake embedder's vectors."""

from typing import Any

from tests.fakes.embedder import hash_vector
from tests.servers.server import ModelServer, Reply, Request


class OpenAIServer(ModelServer):
    def __init__(self, dimension: int, idle_seconds: float | None = None) -> None:
        self.dimension = dimension
        super().__init__(self.embed, idle_seconds)

    def embed(self, request: Request) -> Reply:
        if request.path != "/v1/embeddings":
            return refuse(404, f"Invalid URL (POST {request.path})")
        texts = request.body["input"]
        if not texts or "" in texts:
            return refuse(400, "'$.input' is invalid.")
        return Reply(self.write_answer(request, range(len(texts))))

    def write_answer(self, request: Request, order: Any) -> dict[str, Any]:
        """Returns the answer whose items are these texts, each under its own index."""
        texts = request.body["input"]
        return {
            "object": "list",
            "model": request.body["model"],
            "data": [
                {
                    "object": "embedding",
                    "index": n,
                    "embedding": hash_vector(texts[n], self.dimension).tolist(),
                }
                for n in order
            ],
            "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)},
        }


def refuse(status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Reply({"error": error}, status=status, headers=headers or {})
