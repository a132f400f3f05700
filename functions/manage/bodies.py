"""The bodies of the management API, as the native contract names them."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr

from shared.errors import InvalidRequest
from shared.external.guard import MOST_CHARACTERS
from shared.http.bodies import Body, Numbers, RetrievalBody

MOST_VERSION = 2**62
"""Below what a column holds, so that there is always a next one."""
MOST_DOCUMENTS = 500
"""Of one batch."""

_MOST_TEXT = 10_000_000

Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"\S")]


def _check_key(key: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]{1,4000}", key.get_secret_value()):
        raise ValueError("must be 1 to 4,000 ASCII characters without blanks")
    return key


class EmbeddingBody(Body):
    """Which vectors a dataset's chunks have.

    The model may be left out where the users bring the vectors, the dimension where it is known.
    """

    provider: Literal["bedrock", "openai_compatible", "local", "given"]
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    dimension: Annotated[int, Field(ge=1, le=16_000)] | None = None


class ExternalBody(Body):
    """Where an external knowledge base is asked; `endpoint` is what /retrieval is added to."""

    endpoint: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    knowledge_id: Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]
    api_key: Annotated[SecretStr, AfterValidator(_check_key)]


class DatasetBody(Body):
    """POST /v1/datasets."""

    name: Name
    description: Annotated[str, Field(max_length=2_000)] = ""
    provider: Literal["internal", "external"] = "internal"
    indexing_technique: Literal["high_quality", "economy"] = "high_quality"
    embedding: EmbeddingBody | None = None
    external: ExternalBody | None = None
    retrieval: RetrievalBody = Field(default_factory=RetrievalBody)
    chunking: dict[str, Any] = Field(default_factory=dict)


class DatasetPatch(Body):
    """PATCH /v1/datasets/{id}; what is left out stays."""

    name: Name | None = None
    description: Annotated[str, Field(max_length=2_000)] | None = None
    retrieval: RetrievalBody | None = None
    chunking: dict[str, Any] | None = None
    external: ExternalBody | None = None


class ChunkBody(Body):
    """A chunk that the sender cut."""

    text: Annotated[str, Field(max_length=_MOST_TEXT)]
    vector: Numbers | None = None
    page: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class FileBody(Body):
    """What a document has beside its content; in a form, beside its file."""

    name: Name
    metadata: dict[str, Any] | None = None
    external_id: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    version: Annotated[int, Field(ge=1, le=MOST_VERSION)] | None = None
    source: Annotated[str, Field(max_length=2_000)] | None = None


class DocumentBody(FileBody):
    """POST /v1/datasets/{id}/documents: text, chunks, or what was uploaded."""

    text: str | None = None
    chunks: Annotated[list[ChunkBody], Field(min_length=1)] | None = None
    upload_id: Annotated[str, Field(max_length=100)] | None = None


class UploadBody(Body):
    """POST …/documents/uploads: how many bytes are to be put."""

    size: Annotated[int, Field(ge=0)]


class BatchBody(Body):
    """POST …/documents/batch; each document is judged alone."""

    documents: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_DOCUMENTS)]


class DocumentPatch(Body):
    """PATCH /v1/documents/{id}; what is left out stays, metadata replaces."""

    name: Name | None = None
    metadata: dict[str, Any] | None = None
    enabled: bool | None = None
    archived: bool | None = None


class ChunkPatch(Body):
    """PATCH /v1/chunks/{id}."""

    enabled: bool


FieldTypeName = Literal["string", "number", "time", "boolean", "list"]


class FieldBody(Body):
    """POST …/metadata-fields."""

    name: str
    type: FieldTypeName


class FieldPatch(Body):
    """PATCH …/metadata-fields/{name}; what is left out stays."""

    name: str | None = None
    type: FieldTypeName | None = None


def read_changes(body: Body, *nullable: str) -> dict[str, Any]:
    """Returns the fields that a PATCH names, each with its value.

    Raises:
        InvalidRequest: it names none, or sets one to null that is not `nullable`.
    """
    values: dict[str, Any] = body.model_dump(exclude_unset=True)
    for field, value in values.items():
        if value is None and field not in nullable:
            raise InvalidRequest.at(f"/{field}", "null means nothing here; leave the field out")
    if not values:
        raise InvalidRequest.at("", "nothing to change")
    return values
