"""Speaks Dify's External Knowledge API: one server, any number of knowledge bases."""

from typing import Any

from tests.servers.server import ModelServer, Reply, Request

KEY = "external-key-that-nobody-may-see"


class ExternalServer(ModelServer):
    """Answers `POST /kb/retrieval` with the records of the knowledge base that is asked.

    Attributes:
        bases: what each knowledge base answers: its records, or a whole reply.
    """

    def __init__(self, idle_seconds: float | None = None) -> None:
        self.bases: dict[str, list[Any] | Reply] = {}
        super().__init__(self.retrieve, idle_seconds)
        self.endpoint = f"{self.url}/kb"
        self.host = self.url.removeprefix("http://")

    def retrieve(self, request: Request) -> Reply:
        if request.path != "/kb/retrieval":
            return refuse(404, 1404, f"no route {request.path}")
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return refuse(403, 1002, f"wrong key: {request.headers.get('Authorization')}")
        answer = self.bases.get(request.body["knowledge_id"])
        if answer is None:
            return refuse(404, 2001, "The knowledge does not exist")
        return answer if isinstance(answer, Reply) else Reply({"records": answer})


def refuse(status: int, code: int, message: str) -> Reply:
    return Reply({"error_code": code, "error_msg": message}, status=status)


def record(content: str, score: float, **more: Any) -> dict[str, Any]:
    return {"content": content, "score": score, "title": content, "metadata": {}} | more
