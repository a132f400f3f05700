from pathlib import Path

import pytest

from local.datasets import Embedding
from local.models import open_embedder, read_model_settings
from shared.errors import ConfigurationError, InvalidRequest


def test_the_settings_name_the_folder_of_local_models_before_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WINNOW_LOCAL_MODELS", raising=False)
    assert read_model_settings().local_models is None
    assert read_model_settings(Path("cache")).local_models == Path("cache")
    monkeypatch.setenv("WINNOW_LOCAL_MODELS", "mine")
    assert read_model_settings(Path("cache")).local_models == Path("mine")


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_EMBEDDER_TIMEOUT_SECONDS", "soon")
    with pytest.raises(ConfigurationError, match="WINNOW_EMBEDDER_TIMEOUT_SECONDS"):
        read_model_settings()


def test_an_embedder_is_opened_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_OPENAI_BASE_URL", "http://127.0.0.1:9")
    embedder = open_embedder(Embedding("openai_compatible", "m", 3))
    assert embedder.space.dimension == 3
    with pytest.raises(InvalidRequest, match="dimension"):
        open_embedder(Embedding("openai_compatible", "m"))
    with pytest.raises(InvalidRequest, match="magic"):
        open_embedder(Embedding("magic", "m", 3))
    with pytest.raises(ConfigurationError, match="embeds nothing itself"):
        open_embedder(Embedding("given", "m", 3))
