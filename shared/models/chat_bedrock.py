"""Chat by Amazon Bedrock's Converse: any of its models that takes a system prompt."""

from typing import Any

from shared.errors import ChatModelFailed
from shared.models.bedrock_client import BedrockRuntime

MOST_TOKENS = 2048
"""Of an answer: enough for a hundred conditions."""


class BedrockChat:
    """A `ChatModel` on Converse; asked once, since a query can't wait.

    Args:
        model: the id of a model or of an inference profile.
        runtime: whose transport's failure is `ChatModelFailed`.
    """

    def __init__(self, model: str, runtime: BedrockRuntime) -> None:
        self._model = model
        self._runtime = runtime

    def complete(self, system: str, user: str, timeout: float) -> str:
        """Returns the model's words, never blank, within `timeout` seconds."""
        request = {
            "system": [{"text": system}],
            "messages": [{"role": "user", "content": [{"text": user}]}],
            "inferenceConfig": {"temperature": 0, "maxTokens": MOST_TOKENS},
        }
        text = self._read_text(self._runtime.converse(self._model, request, timeout))
        if not text.strip():
            raise ChatModelFailed(f"{self._model} gave an empty answer")
        return text

    def _read_text(self, answer: dict[str, Any]) -> str:
        try:
            blocks = answer["output"]["message"]["content"]
            # Blocks without text hold the model's reasoning.
            return "".join(block["text"] for block in blocks if "text" in block)
        except (LookupError, TypeError) as error:
            raise ChatModelFailed(f"{self._model} gave an answer of another shape") from error
