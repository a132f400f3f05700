"""Chat by any server that speaks OpenAI's `POST {base}/chat/completions`."""

import json
import time
from typing import Any

from pydantic import SecretStr

from shared.errors import ChatModelFailed
from shared.models.answers import explain_status, parse_object, read_message
from shared.models.openai_compatible import write_headers
from shared.models.transport import Transport

_OK, _REFUSED = 200, 400


class OpenAICompatibleChat:
    """A `ChatModel` on `POST {base_url}/chat/completions`; asked once, since a query can't wait.

    Args:
        model: the name that the server knows.
        transport: whose failure is `ChatModelFailed`.
        base_url: such as https://api.openai.com/v1.
        api_key: sent as bearer token; None for servers that ask for none.
    """

    def __init__(
        self, model: str, transport: Transport, *, base_url: str, api_key: SecretStr | None
    ) -> None:
        self._model = model
        self._transport = transport
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._api_key = api_key
        self._options: dict[str, object] = {"temperature": 0}

    def complete(self, system: str, user: str, timeout: float) -> str:
        """Returns the model's words, never blank, within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        body = {"model": self._model, "messages": _write_messages(system, user), **self._options}
        answer = self._transport.post(
            self._url, json.dumps(body).encode(), write_headers(self._api_key), timeout, 1
        )
        if answer.status == _REFUSED and self._options and b"temperature" in answer.data:
            # Models that reason take no temperature, and only the model knows whether it does.
            self._options = {}
            return self.complete(system, user, deadline - time.monotonic())
        if answer.status != _OK:
            message = read_message(answer.data)
            raise explain_status(self._model, answer.status, message, ChatModelFailed)
        return self._read_text(parse_object(self._model, answer.data, ChatModelFailed))

    def _read_text(self, answer: dict[str, Any]) -> str:
        try:
            text = answer["choices"][0]["message"]["content"]
        except (LookupError, TypeError) as error:
            raise ChatModelFailed(f"{self._model} gave an answer of another shape") from error
        if not isinstance(text, str) or not text.strip():
            raise ChatModelFailed(f"{self._model} gave an empty answer")
        return text


def _write_messages(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
