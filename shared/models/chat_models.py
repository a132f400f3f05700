"""Which chat model a query is read with."""

import threading
from functools import cache, lru_cache
from typing import Protocol

from shared.errors import ChatModelFailed, ConfigurationError, InvalidRequest
from shared.models.api_key import KeySettings, find_openai_key
from shared.models.bedrock_client import BedrockRuntime
from shared.models.chat_bedrock import BedrockChat
from shared.models.chat_openai_compatible import OpenAICompatibleChat
from shared.models.transport import Transport
from shared.ports import ChatModel

PROVIDERS = ("bedrock", "openai_compatible")
_POINTER = "/metadata_filtering/model"

_building = threading.Lock()


class ChatSettings(KeySettings, Protocol):
    """What this module needs of the settings, which must be hashable."""

    @property
    def chat_provider(self) -> str | None:
        """Of the model for queries that name none."""
        ...

    @property
    def chat_model(self) -> str | None:
        """The provider's name of it."""
        ...

    @property
    def retrieval_executors(self) -> int:
        """Most connections to one model server."""
        ...

    @property
    def openai_base_url(self) -> str | None:
        """Where the OpenAI-compatible server is."""
        ...

    def __hash__(self) -> int: ...


def make_chat_model(provider: str | None, model: str | None, settings: ChatSettings) -> ChatModel:
    """Returns a chat model, the same one all through the process.

    Args:
        provider: one of `PROVIDERS`; None = the settings' own.
        model: the provider's name of it; None = the settings' own.
        settings: name the model for whoever names none.

    Raises:
        InvalidRequest: at /metadata_filtering/model: nothing names a model, or the query names a
            provider that is unknown or not set up.
        ConfigurationError: a setting that this model needs is missing.
        ChatModelFailed: the key can't be read now.
    """
    named = provider is not None
    provider, model = provider or settings.chat_provider, model or settings.chat_model
    if provider is None or model is None:
        raise InvalidRequest.at(
            _POINTER,
            "names no provider and model, and neither do the settings "
            "(WINNOW_CHAT_PROVIDER, WINNOW_CHAT_MODEL)",
        )
    if provider not in PROVIDERS:
        detail = f"{provider[:80]!r} is none of {', '.join(PROVIDERS)}"
        raise InvalidRequest.at(f"{_POINTER}/provider", detail)
    if named and provider == "openai_compatible" and settings.openai_base_url is None:
        raise InvalidRequest.at(f"{_POINTER}/provider", f"{provider} is not set up here")
    with _building:
        return _make(provider, model, settings)


@cache
def _open_transport(settings: ChatSettings) -> Transport:
    return Transport(settings.retrieval_executors, failure=ChatModelFailed, model="the chat model")


@cache
def _open_bedrock(settings: ChatSettings) -> BedrockRuntime:
    return BedrockRuntime(_open_transport(settings))


# Requests may name models, so there is a bound to how many are kept.
@lru_cache(maxsize=64)
def _make(provider: str, model: str, settings: ChatSettings) -> ChatModel:
    if provider == "bedrock":
        return BedrockChat(model, _open_bedrock(settings))
    if settings.openai_base_url is None:
        raise ConfigurationError("WINNOW_OPENAI_BASE_URL is not set, and this model needs it")
    return OpenAICompatibleChat(
        model,
        _open_transport(settings),
        base_url=settings.openai_base_url,
        api_key=find_openai_key(settings, ChatModelFailed),
    )
