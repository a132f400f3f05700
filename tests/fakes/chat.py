"""A chat model that says what it is told to."""

import json
from collections.abc import Callable
from typing import Any

from shared.errors import ChatModelFailed


def write_map(*conditions: tuple[Any, ...]) -> str:
    """Returns the answer of these (field, operator[, value])."""
    keys = ("metadata_field_name", "comparison_operator", "metadata_field_value")
    return json.dumps({"metadata_map": [dict(zip(keys, c, strict=False)) for c in conditions]})


class FakeChatModel:
    """Answers by `answer`, which gets the user's part.

    Attributes:
        answer: a text, or what makes one.
        asked: every (system, user, timeout).
    """

    def __init__(self, answer: str | Callable[[str], str]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, float]] = []

    def complete(self, system: str, user: str, timeout: float) -> str:
        self.asked.append((system, user, timeout))
        if timeout <= 0:
            raise ChatModelFailed("no time was left to ask the model")
        text = self.answer if isinstance(self.answer, str) else self.answer(user)
        if not text.strip():
            raise ChatModelFailed("the fake gave an empty answer")
        return text


class FakeChatModels:
    """Gives the same model to whoever asks.

    Attributes:
        named: every (provider, model) that was asked for.
    """

    def __init__(self, answer: str | Callable[[str], str] = '{"metadata_map": []}') -> None:
        self.model = FakeChatModel(answer)
        self.named: list[tuple[str | None, str | None]] = []

    def __call__(self, provider: str | None, model: str | None) -> FakeChatModel:
        self.named.append((provider, model))
        return self.model
