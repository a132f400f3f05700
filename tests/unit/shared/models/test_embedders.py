import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from pydantic import SecretStr

from local.artifacts import model_files
from shared.errors import ConfigurationError, EmbedderFailed, InvalidRequest
from shared.model import NO_VECTORS, EmbeddingSpace
from shared.models.embedders import (
    ANY_MODEL,
    KNOWN_MODELS,
    check_space,
    choose_space,
    list_providers,
    make_embedder,
)
from shared.settings import Settings
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.openai import OpenAIServer

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3"
GOOD = [
    EmbeddingSpace("bedrock", TITAN, 256),
    EmbeddingSpace("bedrock", TITAN, 512),
    EmbeddingSpace("bedrock", TITAN, 1024),
    EmbeddingSpace("bedrock", COHERE, 1024),
    EmbeddingSpace("bedrock", "amazon.titan-embed-image-v1", 384),
    EmbeddingSpace("local", "bge-small-en-v1.5", 384),
    EmbeddingSpace("local", "bge-small-zh-v1.5", 512),
    EmbeddingSpace("openai_compatible", "whatever", 1),
    EmbeddingSpace("given", "mine", 16_000),
    NO_VECTORS,
]


def settings(**values: object) -> Settings:
    return Settings(
        database_url=SecretStr("postgresql://nowhere/x"),
        opensearch_url="http://nowhere",
        content_url="file:///nowhere",
        **values,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("space", GOOD, ids=str)
def test_spaces_that_an_embedder_makes_are_taken(space: EmbeddingSpace) -> None:
    check_space(space)


@pytest.mark.parametrize(
    ("space", "field", "words"),
    [
        (EmbeddingSpace("azure", "x", 3), "provider", "bedrock, local, openai_compatible, given"),
        (EmbeddingSpace("none", "none", 8), "provider", "'none' is none of"),
        (EmbeddingSpace("bedrock", "amazon.titan-embed-text-v1", 1536), "model", TITAN),
        (EmbeddingSpace("local", "bge-large", 1024), "model", "bge-small-en-v1.5"),
        (EmbeddingSpace("bedrock", TITAN, 384), "dimension", "256 or 512 or 1024, not 384"),
        (EmbeddingSpace("bedrock", COHERE, 512), "dimension", "1024, not 512"),
        (EmbeddingSpace("local", "bge-small-en-v1.5", 512), "dimension", "384, not 512"),
        (EmbeddingSpace("openai_compatible", " ", 8), "model", "empty"),
        (EmbeddingSpace("given", "mine", 0), "dimension", "between 1 and 16000"),
        (EmbeddingSpace("given", "mine", 16_001), "dimension", "between 1 and 16000"),
        (EmbeddingSpace("openai_compatible", "m", -1), "dimension", "between 1 and 16000"),
    ],
    ids=str,
)
def test_spaces_that_none_makes_are_refused_at_the_field(
    space: EmbeddingSpace, field: str, words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        check_space(space)
    assert [problem.pointer for problem in refused.value.problems] == [f"/embedding/{field}"]
    with pytest.raises(InvalidRequest, match=words):
        make_embedder(space, settings())


@pytest.mark.parametrize("provider", ["bedrock", "local"])
def test_an_unknown_model_is_told_before_its_dimension_is_missed(provider: str) -> None:
    with pytest.raises(InvalidRequest, match="'other' is none of") as refused:
        choose_space(provider, "other", None)
    assert [problem.pointer for problem in refused.value.problems] == ["/embedding/model"]


def test_spaces_whose_vectors_are_brought_have_no_embedder() -> None:
    assert make_embedder(NO_VECTORS, settings()) is None
    assert make_embedder(EmbeddingSpace("given", "mine", 3), settings()) is None


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    server = OpenAIServer(8)
    with server.running():
        yield server


def test_an_openai_compatible_space_uses_the_settings(server: OpenAIServer) -> None:
    space = EmbeddingSpace("openai_compatible", "m", 8)
    configured = settings(openai_base_url=f"{server.url}/v1", openai_api_key=SecretStr("sk-1"))
    embedder = make_embedder(space, configured)
    assert embedder is not None
    assert embedder.space == space
    embedder.embed_passages(["text"])
    assert server.requests[0].headers["Authorization"] == "Bearer sk-1"


def test_the_key_may_be_a_secret_that_is_read_when_it_is_needed(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = EmbeddingSpace("openai_compatible", "m", 8)
    arn = "arn:aws:secretsmanager:us-east-1:1:secret:key"
    configured = settings(openai_base_url=f"{server.url}/v1", openai_api_key_secret=arn)

    def fail(**_arguments: str) -> dict[str, str]:
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    client = SimpleNamespace(get_secret_value=fail)
    monkeypatch.setattr(boto3, "client", lambda _service, **_: client)
    with pytest.raises(EmbedderFailed) as failed:
        make_embedder(space, configured)
    assert "nowhere" not in str(failed.value)
    # What failed is tried again.
    client.get_secret_value = lambda SecretId: {"SecretString": f"key of {SecretId}"}  # noqa: N803
    embedder = make_embedder(space, configured)
    assert embedder is not None
    embedder.embed_query("text", 5)
    assert server.requests[0].headers["Authorization"] == f"Bearer key of {arn}"


def test_a_local_space_reads_its_models_folder() -> None:
    space = EmbeddingSpace("local", "bge-small-en-v1.5", 384)
    folder = model_files("bge-small-en-v1.5").model.parent.parent
    embedder = make_embedder(space, settings(local_models=folder))
    assert embedder is not None
    assert len(embedder.embed_query("q", 1)) == 384


@pytest.mark.parametrize("space", GOOD[:5], ids=str)
def test_bedrock_spaces_have_an_embedder(
    space: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    embedder = make_embedder(space, settings())
    assert embedder is not None
    assert embedder.space == space


@pytest.mark.parametrize(
    ("space", "setting"),
    [
        (EmbeddingSpace("openai_compatible", "m", 8), "WINNOW_OPENAI_BASE_URL"),
        (EmbeddingSpace("local", "bge-small-en-v1.5", 384), "WINNOW_LOCAL_MODELS"),
    ],
    ids=str,
)
def test_a_missing_setting_is_named(space: EmbeddingSpace, setting: str) -> None:
    with pytest.raises(ConfigurationError, match=setting):
        make_embedder(space, settings())


def test_the_settings_say_which_providers_there_are(tmp_path: Path) -> None:
    assert list_providers(settings()) == {"bedrock", "given"}
    everything = settings(openai_base_url="http://one", local_models=tmp_path)
    assert list_providers(everything) == {*KNOWN_MODELS, *ANY_MODEL}


def test_a_process_has_one_embedder_a_space_however_many_ask_at_once(tmp_path: Path) -> None:
    space = EmbeddingSpace("openai_compatible", "m", 8)
    # Equal settings, made twice: what counts is what they say.
    several = [settings(openai_base_url="http://one", local_models=tmp_path) for _ in range(16)]
    with ThreadPoolExecutor(16) as callers:
        made = list(callers.map(lambda each: make_embedder(space, each), several))
    assert len({id(embedder) for embedder in made}) == 1
    other = make_embedder(space, settings(openai_base_url="http://two"))
    assert other is not made[0]


def test_heavy_libraries_load_only_when_needed() -> None:
    program = (
        "import sys, shared.models.embedders, shared.content.open, shared.queue.sqs\n"
        "heavy = {'boto3', 'botocore', 'onnxruntime', 'tokenizers'} & sys.modules.keys()\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603, our own program
