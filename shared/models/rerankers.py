"""Which reranking model orders a query's candidates."""

import threading
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from shared.errors import ConfigurationError, InvalidRequest, RerankerFailed
from shared.model import EmbeddingSpace
from shared.models import rerank_bedrock, rerank_local
from shared.models.api_key import FindKey, find_api_key
from shared.models.bedrock_client import BedrockClient
from shared.models.rerank_bedrock import BedrockReranker
from shared.models.rerank_cohere_compatible import (
    IMAGE_MODELS,
    CohereCompatibleImageReranker,
    CohereCompatibleReranker,
)
from shared.models.rerank_local import LocalReranker
from shared.models.rerank_tei import TeiReranker
from shared.models.transport import Transport
from shared.ports import Reranker

PROVIDERS = ("bedrock", "cohere_compatible", "tei", "local")
KNOWN_MODELS = {"bedrock": rerank_bedrock.MODELS, "local": (rerank_local.MODEL,)}
"""Of the others any may be named; a TEI server has one, whatever it is called."""

CHINESE_EMBEDDER = "bge-small-zh-v1.5"

_building = threading.Lock()


class RerankingSettings(Protocol):
    """What this module needs of the settings, which must be hashable."""

    @property
    def reranking_provider(self) -> str | None:
        """Of the model for queries that name none."""
        ...

    @property
    def reranking_model(self) -> str | None:
        """The provider's name of it."""
        ...

    @property
    def retrieval_executors(self) -> int:
        """Most connections to one model server."""
        ...

    @property
    def cohere_base_url(self) -> str | None:
        """Where the server of Cohere's and Jina's API is."""
        ...

    @property
    def cohere_api_key(self) -> SecretStr | None:
        """Its key, if it asks for one."""
        ...

    @property
    def cohere_api_key_secret(self) -> str | None:
        """ARN of the secret that holds that key."""
        ...

    @property
    def cohere_gives_logits(self) -> bool:
        """Whether its scores are logits."""
        ...

    @property
    def tei_base_url(self) -> str | None:
        """Where the TEI server is."""
        ...

    @property
    def tei_api_key(self) -> SecretStr | None:
        """Its key, if it asks for one."""
        ...

    @property
    def tei_api_key_secret(self) -> str | None:
        """ARN of the secret that holds that key."""
        ...

    @property
    def local_models(self) -> Path | None:
        """Holds one folder a local model, with model.onnx and tokenizer.json."""
        ...

    def __hash__(self) -> int: ...


def make_reranker(
    provider: str | None,
    model: str | None,
    settings: RerankingSettings,
    pointer: str = "/fusion/reranking_model",
) -> Reranker:
    """Returns a reranker, the same one all through the process, at once: its first call loads it.

    Args:
        provider: one of `PROVIDERS`; None = the settings' own, and their model.
        model: the provider's name of it.
        settings: name the model for whoever names none.
        pointer: where the request names it.

    Raises:
        InvalidRequest: below the pointer: nothing names a model, or one that is unknown or not set
            up is named.
    """
    found = check_reranker(provider, model, settings, pointer)
    with _building:
        return _make(*found, settings)


def check_reranker(
    provider: str | None, model: str | None, settings: RerankingSettings, pointer: str
) -> tuple[str, str]:
    """Returns provider and model, those of the settings where none is named.

    Raises:
        InvalidRequest: as `make_reranker`.
    """
    if provider is None:
        provider, model = settings.reranking_provider, settings.reranking_model
    if provider is None or model is None:
        raise InvalidRequest.at(
            pointer,
            "names no provider and model, and neither do the settings "
            "(WINNOW_RERANKING_PROVIDER, WINNOW_RERANKING_MODEL)",
        )
    if provider not in PROVIDERS:
        detail = f"{provider[:80]!r} is none of {', '.join(PROVIDERS)}"
        raise InvalidRequest.at(f"{pointer}/provider", detail)
    if model not in KNOWN_MODELS.get(provider, (model,)):
        detail = f"{model[:80]!r} is none of {', '.join(KNOWN_MODELS[provider])}"
        raise InvalidRequest.at(f"{pointer}/model", detail)
    if provider not in list_rerankers(settings):
        raise InvalidRequest.at(f"{pointer}/provider", f"{provider} is not set up here")
    return provider, model


def check_default(
    settings: RerankingSettings,
    provider: str | None,
    model: str | None,
    space: EmbeddingSpace | None,
    pointer: str,
) -> None:
    """Refuses a model that can't be the default of a dataset.

    Args:
        settings: as of `make_reranker`.
        provider: likewise.
        model: likewise.
        space: the dataset's; None of an external one.
        pointer: where the request names the model.

    Raises:
        InvalidRequest: as `make_reranker`, or the dataset's text is Chinese and the model reads
            English alone.
    """
    found, _ = check_reranker(provider, model, settings, pointer)
    if found == "local" and space is not None and space.model == CHINESE_EMBEDDER:
        raise InvalidRequest.at(
            pointer,
            f"{rerank_local.MODEL} reads English alone: of the Chinese text that "
            f"{CHINESE_EMBEDDER} is for, its scores say nothing",
        )


def list_rerankers(settings: RerankingSettings) -> frozenset[str]:
    """Returns the providers that a process of these settings can ask."""
    providers = {"bedrock"}
    if settings.cohere_base_url is not None:
        providers.add("cohere_compatible")
    if settings.tei_base_url is not None:
        providers.add("tei")
    folder = settings.local_models
    if folder is not None and (folder / rerank_local.MODEL / "model.onnx").is_file():
        providers.add("local")
    return frozenset(providers)


@cache
def _open_transport(settings: RerankingSettings) -> Transport:
    return Transport(
        settings.retrieval_executors, failure=RerankerFailed, model="the reranking model"
    )


def _open_bedrock(settings: RerankingSettings) -> BedrockClient:
    with _building:
        return _make_client(settings)


@cache
def _make_client(settings: RerankingSettings) -> BedrockClient:
    return BedrockClient(rerank_bedrock.SERVICE, _open_transport(settings))


# Requests may name models, so there is a bound to how many are kept.
@lru_cache(maxsize=64)
def _make(provider: str, model: str, settings: RerankingSettings) -> Reranker:
    match provider:
        case "bedrock":
            return BedrockReranker(model, partial(_open_bedrock, settings))
        case "cohere_compatible":
            return _make_cohere_compatible(model, settings)
        case "tei":
            return TeiReranker(
                model,
                _open_transport(settings),
                base_url=_need(settings.tei_base_url),
                find_key=_key_of(settings.tei_api_key, settings.tei_api_key_secret),
            )
        case _:
            return LocalReranker(Path(_need(settings.local_models)) / model)


def _make_cohere_compatible(model: str, settings: RerankingSettings) -> Reranker:
    reads_images = model.rpartition("/")[2] in IMAGE_MODELS
    adapter = CohereCompatibleImageReranker if reads_images else CohereCompatibleReranker
    return adapter(
        model,
        _open_transport(settings),
        base_url=_need(settings.cohere_base_url),
        find_key=_key_of(settings.cohere_api_key, settings.cohere_api_key_secret),
        gives_logits=settings.cohere_gives_logits,
    )


def _key_of(key: SecretStr | None, secret: str | None) -> FindKey:
    # Read at the first call, so that whoever makes a reranker waits for nobody; kept from then on.
    return cache(lambda: find_api_key(key, secret, RerankerFailed))


def _need[T](setting: T | None) -> T:
    if setting is None:
        raise ConfigurationError("a setting of this reranking model is missing")
    return setting
