"""The models that commands ask themselves, without the service."""

from pathlib import Path

from pydantic import ValidationError

from local.artifacts import cache_folder
from local.datasets import Embedding
from shared.errors import ConfigurationError
from shared.models.embedders import choose_space, make_embedder
from shared.ports import Embedder
from shared.settings import ModelSettings


def read_model_settings(local_models: Path | None = None) -> ModelSettings:
    """Returns the settings of models.

    Args:
        local_models: the folder of local models where the settings name none.

    Raises:
        ConfigurationError: naming the setting that is wrong.
    """
    try:
        settings = ModelSettings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"WINNOW_{first['loc'][0]}".upper()
        raise ConfigurationError(f"{name}: {first['msg']}") from error
    return settings.model_copy(update={"local_models": settings.local_models or local_models})


def open_embedder(embedding: Embedding) -> Embedder:
    """Returns the embedder of the name.

    Raises:
        InvalidRequest: there is no such model.
        ConfigurationError: a setting that it needs is missing.
    """
    space = choose_space(embedding.provider, embedding.model, embedding.dimension)
    embedder = make_embedder(space, read_model_settings(cache_folder() / "models"))
    if embedder is None:
        raise ConfigurationError(f"{embedding} embeds nothing itself: name a model that does")
    return embedder
