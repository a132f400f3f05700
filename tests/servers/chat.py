"""Chat models behind HTTP: OpenAI's chat completions and Bedrock's Converse."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from tests.servers import bedrock, openai
from tests.servers.server import ModelServer, Reply, Request

CONVERSE_FIELDS = {"messages", "system", "inferenceConfig"}


class OpenAIChatServer(ModelServer):
    """Says what `speak` makes of the user's part.

    Attributes:
        speak: the model.
        takes_temperature: whether it is a model that takes one.
    """

    def __init__(self, speak: Callable[[str], str], *, takes_temperature: bool = True) -> None:
        self.speak = speak
        self.takes_temperature = takes_temperature
        super().__init__(self.complete)

    def complete(self, request: Request) -> Reply:
        if request.path != "/v1/chat/completions":
            return openai.refuse(404, f"Invalid URL (POST {request.path})")
        body = request.body
        if [each.get("role") for each in body["messages"]] != ["system", "user"]:
            return openai.refuse(400, "'messages' is invalid.")
        if "temperature" in body and not self.takes_temperature:
            return openai.refuse(400, "Unsupported value: 'temperature' does not support 0.")
        return Reply(write_completion(self.speak(body["messages"][1]["content"]), body["model"]))


def write_completion(content: Any, model: str = "any") -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_741_569_952,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29},
    }


class BedrockChatServer(ModelServer):
    """Says what `speak` makes of the user's part, through Converse."""

    def __init__(self, speak: Callable[[str], str]) -> None:
        self.speak = speak
        super().__init__(self.converse)

    def converse(self, request: Request) -> Reply:
        match unquote(request.path).split("/"):
            case ["", "model", _, "converse"]:
                body = request.body
            case _:
                return bedrock.refuse("ResourceNotFoundException", 404, "no such model")
        if not body.keys() <= CONVERSE_FIELDS or not body["system"][0]["text"]:
            return bedrock.malformed("#: extraneous key")
        return Reply(write_conversation(self.speak(body["messages"][0]["content"][0]["text"])))


def write_conversation(*texts: str, thought: str | None = None) -> dict[str, Any]:
    blocks: list[Any] = [{"text": text} for text in texts]
    if thought is not None:
        blocks.insert(0, {"reasoningContent": {"reasoningText": {"text": thought}}})
    return {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 125, "outputTokens": 60, "totalTokens": 185},
        "metrics": {"latencyMs": 1175},
    }
