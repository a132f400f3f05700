"""Every setting, once: typed, frozen, read from WINNOW_* environment variables."""

import re
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_TENANT = "00000000-0000-0000-0000-000000000001"
"""The tenant of the bootstrap key; `migrate` creates it."""


def check_key(key: SecretStr) -> SecretStr:
    """Returns the bootstrap key; raises ValueError for one that no header could bring."""
    if not re.fullmatch(r"[!-~]{32,}", key.get_secret_value()):
        raise ValueError("must be 32 ASCII characters or more, without blanks or line ends")
    return key


class ModelSettings(BaseSettings):
    """What asking a model server needs, without any store."""

    model_config = SettingsConfigDict(
        env_prefix="WINNOW_",
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,  # of one setting that is missing, the others are the input
    )

    retrieval_executors: int = Field(default=16, ge=3, le=64)
    openai_base_url: str | None = None
    openai_api_key: SecretStr | None = None
    openai_api_key_secret: str | None = None
    """ARN of the Secrets Manager secret that holds it."""
    embedder_timeout_seconds: float = Field(default=10.0, gt=0)
    local_models: Path | None = None
    """Folder with one folder a local model: model.onnx and tokenizer.json."""
    chat_provider: str | None = Field(default=None, pattern="^(bedrock|openai_compatible)$")
    chat_model: str | None = Field(default=None, min_length=1)
    chat_timeout_seconds: float = Field(default=10.0, gt=0)


class Settings(ModelSettings):
    """The settings of every function; a test holds template.yaml to them."""

    database_url: SecretStr
    database_iam: bool = False
    database_timeout_seconds: float = Field(default=5.0, gt=0)
    database_connections: int = Field(default=5, ge=1, le=100)
    opensearch_url: str
    opensearch_auth: str = Field(default="none", pattern="^(none|sigv4)$")
    opensearch_timeout_seconds: float = Field(default=10.0, gt=0)
    index_prefix: str = Field(default="winnow", pattern="^[a-z][a-z0-9-]{0,40}$")
    index_shards: int = Field(default=1, ge=1)
    index_replicas: int = Field(default=0, ge=0)

    bootstrap_key: Annotated[SecretStr, AfterValidator(check_key)] | None = None
    bootstrap_key_secret: str | None = None
    """ARN of the Secrets Manager secret that holds the bootstrap key."""

    content_url: str
    """s3://bucket/prefix or file:///folder."""
    content_timeout_seconds: float = Field(default=10.0, gt=0)
    queue_url: str | None = None
    """The SQS queue of changes; without one the local loop polls the outbox."""
    queue_timeout_seconds: float = Field(default=5.0, gt=0)

    reranking_provider: str | None = Field(
        default=None, pattern="^(bedrock|cohere_compatible|tei|local)$"
    )
    reranking_model: str | None = Field(default=None, min_length=1)
    reranking_timeout_seconds: float = Field(default=10.0, gt=0)
    reranking_candidates: int = Field(default=100, ge=1, le=1000)
    cohere_base_url: str | None = None
    """Of a server that speaks Cohere's and Jina's API of reranking models."""
    cohere_api_key: SecretStr | None = None
    cohere_api_key_secret: str | None = None
    """ARN of the Secrets Manager secret that holds it."""
    cohere_gives_logits: bool = False
    tei_base_url: str | None = None
    """Of a server of Hugging Face Text Embeddings Inference."""
    tei_api_key: SecretStr | None = None
    tei_api_key_secret: str | None = None
    """ARN of the Secrets Manager secret that holds it."""

    retrieval_depth: int = Field(default=100, ge=100, le=1000)
    external_allow_hosts: str = ""
    """Comma-separated host:port that external knowledge bases may have, whatever their address."""
    request_max_bytes: int = Field(default=8_000_000, ge=1_000)
    document_max_bytes: int = Field(default=10_000_000, ge=1)
    document_max_expanded_bytes: int = Field(default=100_000_000, ge=1)
    """How far a file may expand: the parts of an Office file, the text of any."""
    include_hidden: bool = False
    """Read what files hide from their readers: sheets, rows, columns, slides, text, elements."""
    wait_seconds: float = Field(default=25.0, gt=0)


@cache
def read_settings() -> Settings:
    """Returns the settings, read once a process."""
    return Settings()
