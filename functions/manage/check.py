"""What a document's body must satisfy beyond its types, before anything is written."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from functions.manage.bodies import ChunkBody, DocumentBody
from shared.errors import InvalidRequest, Problem, TooLarge
from shared.files.front_matter import read_own_metadata
from shared.http.problems import problems_of
from shared.metadata.fields import FieldType, check_types
from shared.metadata.filter_values import validate_metadata
from shared.model import CHUNKS_MEDIA_TYPE, Dataset, JsonObject
from shared.models.vectors import VectorRefused, as_vector


def parse_document(sent: dict[str, Any], pointer: str) -> DocumentBody:
    """Returns one document of a batch; raises `InvalidRequest` with pointers below `pointer`."""
    try:
        return DocumentBody.model_validate(sent)
    except ValidationError as error:
        raise problems_of(error.errors(), pointer) from error


def check_sent(body: DocumentBody, dataset: Dataset, most_bytes: int, pointer: str) -> None:
    """Raises `InvalidRequest` naming every wrong place of the content, or `TooLarge`."""
    contents = (body.text, body.chunks, body.upload_id)
    if sum(each is not None for each in contents) != 1:
        raise InvalidRequest.at(f"{pointer}/text", "send one of text, chunks and upload_id")
    if body.text is not None:
        check_embeds(dataset, f"{pointer}/text")
        if not body.text.strip():
            raise InvalidRequest.at(f"{pointer}/text", "the text is blank")
        check_size(len(body.text.encode()), most_bytes, f"{pointer}/text")
    if body.chunks is not None:
        _check_chunks(body.chunks, dataset, pointer)
    if body.upload_id is not None:
        check_embeds(dataset, f"{pointer}/upload_id")


def check_embeds(dataset: Dataset, pointer: str) -> None:
    """Raises `InvalidRequest` where a dataset takes only chunks with vectors."""
    if dataset.space.provider == "given":
        raise InvalidRequest.at(
            pointer, "this dataset embeds nothing itself: send chunks with vectors"
        )


def check_size(size: int, most: int, pointer: str) -> None:
    """Raises `TooLarge` for more bytes than a document may have."""
    if size > most:
        raise TooLarge(f"{pointer}: {size} bytes; a document may have {most}")


def check_metadata(
    metadata: JsonObject | None, declared: Mapping[str, FieldType], pointer: str
) -> None:
    """Raises `InvalidRequest` naming every wrong place."""
    validate_metadata(metadata, pointer)
    check_types(metadata, declared, pointer)


def gather_metadata(
    sent: JsonObject,
    data: bytes,
    media_type: str,
    declared: Mapping[str, FieldType],
    pointer: str,
    metadata_pointer: str,
) -> JsonObject:
    """Returns a document's metadata: what was sent, then what its own front matter has besides.

    Raises:
        InvalidRequest: the front matter holds what metadata can't.
    """
    own = read_own_metadata(data, media_type)
    if not own:
        return sent
    try:
        check_metadata(own, declared, "")
    except InvalidRequest as error:
        problems = (f"front matter: {p.pointer}: {p.detail}" for p in error.problems)
        raise InvalidRequest(*(Problem(pointer, each) for each in problems)) from error
    metadata = {**own, **sent}
    validate_metadata(metadata, metadata_pointer)
    return metadata


def encode_document(body: DocumentBody) -> tuple[bytes, str]:
    """Returns the bytes to keep and their media type."""
    if body.chunks is not None:
        chunks = [chunk.model_dump(exclude_none=True) for chunk in body.chunks]
        return json.dumps({"chunks": chunks}, ensure_ascii=False).encode(), CHUNKS_MEDIA_TYPE
    plain = body.name.lower().endswith(".txt")
    return (body.text or "").encode(), "text/plain" if plain else "text/markdown"


def _check_chunks(chunks: list[ChunkBody], dataset: Dataset, pointer: str) -> None:
    problems = [
        Problem(f"{pointer}/chunks/{n}/vector", problem)
        for n, chunk in enumerate(chunks)
        if (problem := _find_problem(chunk, dataset)) is not None
    ]
    if problems:
        raise InvalidRequest(*problems[:100])
    if not any(chunk.text.strip() for chunk in chunks):
        raise InvalidRequest.at(f"{pointer}/chunks", "every chunk is blank")


def _find_problem(chunk: ChunkBody, dataset: Dataset) -> str | None:
    if chunk.vector is None:
        needed = dataset.space.provider == "given" and chunk.text.strip()
        return "this dataset needs a vector with each chunk" if needed else None
    if not dataset.space.has_vectors:
        return "an economy dataset takes no vectors"
    try:
        as_vector(chunk.vector, dataset.space.dimension)
    except VectorRefused as error:
        return str(error)
    return None
