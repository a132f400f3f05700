"""Which embedder a space has."""

import threading
from functools import cache
from pathlib import Path
from typing import Protocol

from shared.errors import ConfigurationError, EmbedderFailed, InvalidRequest
from shared.model import NO_VECTORS, EmbeddingSpace
from shared.models import bedrock, local
from shared.models.api_key import KeySettings, find_openai_key
from shared.models.bedrock_client import BedrockRuntime
from shared.models.openai_compatible import OpenAICompatibleEmbedder
from shared.models.transport import Transport
from shared.ports import Embedder

MAX_DIMENSION = 16_000
"""What the index takes."""

KNOWN_MODELS: dict[str, dict[str, tuple[int, ...]]] = {
    "bedrock": {
        bedrock.TITAN: bedrock.TITAN_DIMENSIONS,
        bedrock.IMAGE_TITAN: bedrock.IMAGE_TITAN_DIMENSIONS,
        bedrock.COHERE: (bedrock.COHERE_DIMENSION,),
    },
    "local": {model: (dimension,) for model, dimension in local.DIMENSIONS.items()},
}
ANY_MODEL = ("openai_compatible", "given")

_building = threading.Lock()


class ModelSettings(KeySettings, Protocol):
    """What this package needs of the settings, which must be hashable."""

    @property
    def retrieval_executors(self) -> int:
        """Most connections to one model server."""
        ...

    @property
    def embedder_timeout_seconds(self) -> float:
        """Time for one call with passages."""
        ...

    @property
    def openai_base_url(self) -> str | None:
        """Where the OpenAI-compatible server is."""
        ...

    @property
    def local_models(self) -> Path | None:
        """Holds one folder a local model, with model.onnx and tokenizer.json."""
        ...

    def __hash__(self) -> int: ...


def list_providers(settings: ModelSettings) -> frozenset[str]:
    """Returns the providers that a process of these settings can embed with."""
    providers = {"bedrock", "given"}
    if settings.openai_base_url is not None:
        providers.add("openai_compatible")
    if settings.local_models is not None:
        providers.add("local")
    return frozenset(providers)


def choose_space(provider: str, model: str | None, dimension: int | None) -> EmbeddingSpace:
    """Returns the space that an embedding setting names.

    Args:
        provider: of the vectors.
        model: None only where the users bring the vectors.
        dimension: None for the largest that the model is known to have.

    Raises:
        InvalidRequest: at /embedding/provider, /embedding/model or /embedding/dimension.
    """
    model = model or (provider if provider == "given" else None)
    if model is None:
        raise _refuse("model", "is needed")
    known = _list_dimensions(provider, model) if provider in KNOWN_MODELS else ()
    dimension = dimension or max(known, default=None)
    if dimension is None:
        raise _refuse("dimension", "is needed: it is not known for this model")
    space = EmbeddingSpace(provider, model, dimension)
    check_space(space)
    return space


def reads_images(space: EmbeddingSpace) -> bool:
    """Tells whether the space's embedder is an `ImageEmbedder`."""
    return (space.provider, space.model) == ("bedrock", bedrock.IMAGE_TITAN)


def check_space(space: EmbeddingSpace) -> None:
    """Refuses an embedding setting that no embedder fits.

    Raises:
        InvalidRequest: at /embedding/provider, /embedding/model or /embedding/dimension.
    """
    if space == NO_VECTORS:
        return
    if space.provider in ANY_MODEL:
        _check_any(space)
    elif space.provider in KNOWN_MODELS:
        _check_known(space)
    else:
        providers = ", ".join([*KNOWN_MODELS, *ANY_MODEL])
        raise _refuse("provider", f"{space.provider!r} is none of {providers}")


def _check_any(space: EmbeddingSpace) -> None:
    if not space.model.strip():
        raise _refuse("model", "the name is empty")
    if not 1 <= space.dimension <= MAX_DIMENSION:
        raise _refuse("dimension", f"{space.dimension} is not between 1 and {MAX_DIMENSION}")


def _check_known(space: EmbeddingSpace) -> None:
    dimensions = _list_dimensions(space.provider, space.model)
    if space.dimension not in dimensions:
        choices = " or ".join(map(str, dimensions))
        raise _refuse("dimension", f"{space.model} has {choices}, not {space.dimension}")


def _list_dimensions(provider: str, model: str) -> tuple[int, ...]:
    models = KNOWN_MODELS[provider]
    if model not in models:
        raise _refuse("model", f"{model!r} is none of {', '.join(models)}")
    return models[model]


def _refuse(field: str, detail: str) -> InvalidRequest:
    return InvalidRequest.at(f"/embedding/{field}", detail)


def make_embedder(space: EmbeddingSpace, settings: ModelSettings) -> Embedder | None:
    """Returns the space's embedder, the same one all through the process.

    None where the users bring the vectors, or there are none.

    Raises:
        InvalidRequest: no embedder makes such vectors.
        ConfigurationError: a setting that this embedder needs is missing.
        EmbedderFailed: the key can't be read now.
    """
    with _building:
        return _make(space, settings)


@cache
def _make(space: EmbeddingSpace, settings: ModelSettings) -> Embedder | None:
    check_space(space)
    match space.provider:
        case "bedrock":
            return _make_bedrock(space, settings)
        case "openai_compatible":
            return _make_openai_compatible(space, settings)
        case "local":
            return _make_local(space, settings)
        case _:
            return None


@cache
def _open_transport(settings: ModelSettings) -> Transport:
    return Transport(settings.retrieval_executors)


@cache
def _open_bedrock(settings: ModelSettings) -> BedrockRuntime:
    return BedrockRuntime(_open_transport(settings))


def _make_bedrock(space: EmbeddingSpace, settings: ModelSettings) -> Embedder:
    runtime, timeout = _open_bedrock(settings), settings.embedder_timeout_seconds
    if space.model == bedrock.TITAN:
        return bedrock.TitanEmbedder(space, runtime, timeout=timeout)
    if space.model == bedrock.IMAGE_TITAN:
        return bedrock.TitanImageEmbedder(space, runtime, timeout=timeout)
    return bedrock.CohereEmbedder(space, runtime, timeout=timeout)


def _make_openai_compatible(space: EmbeddingSpace, settings: ModelSettings) -> Embedder:
    if settings.openai_base_url is None:
        raise ConfigurationError("WINNOW_OPENAI_BASE_URL is not set, and this dataset needs it")
    return OpenAICompatibleEmbedder(
        space,
        _open_transport(settings),
        base_url=settings.openai_base_url,
        api_key=find_openai_key(settings, EmbedderFailed),
        timeout=settings.embedder_timeout_seconds,
    )


def _make_local(space: EmbeddingSpace, settings: ModelSettings) -> Embedder:
    if settings.local_models is None:
        raise ConfigurationError("WINNOW_LOCAL_MODELS is not set, and this dataset needs it")
    return local.LocalEmbedder(space, settings.local_models / space.model)
