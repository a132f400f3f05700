"""What users put into a bucket: an object's present state becomes a document, or ends one.

Objects lie under datasets/<dataset id>/…; `<key>.metadata.json` beside one holds its metadata, as
Bedrock's {"metadataAttributes": {…}}. It wins over what a Markdown file says of itself.
"""

import re
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Engine

from functions.ingest.events import ObjectChange
from shared.errors import (
    ChangeMalformed,
    DocumentRefused,
    InvalidRequest,
    Overtaken,
    UnsupportedMediaType,
)
from shared.files.front_matter import read_own_metadata
from shared.files.media import find_media_type
from shared.files.sidecar import SIDECAR, SIDECAR_MAX_BYTES, parse_sidecar
from shared.metadata.fields import check_types
from shared.metadata.filter_values import validate_metadata
from shared.model import Change, Dataset, IndexingStatus, JsonObject, SourceObject
from shared.ports import ContentStore, ObjectReader
from shared.postgres.datasets import find_dataset
from shared.postgres.documents import DocumentWrite, end_source, find_document, refuse_source
from shared.postgres.engine import read, transaction
from shared.postgres.fields import list_declared
from shared.postgres.intake import accept_document, name_content, name_document
from shared.telemetry import logger

_KEY = re.compile(r"datasets/(?P<dataset>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})/.*[^/]", re.S)
_TRIES = 3


def take_object(
    event: ObjectChange,
    engine: Engine,
    objects: ObjectReader,
    content: ContentStore,
    most: int,
    *,
    is_first: bool = False,
) -> Change | None:
    """Saves what an object holds now as a document, or deletes the document of one that is gone.

    Args:
        event: what S3 says.
        engine: the database.
        objects: where users put objects.
        content: the content store.
        most: bytes of the largest object that is read.
        is_first: the event comes for the first time, or came back out of the dead letters: what was
            refused is then taken as it is now.

    Returns:
        The change to ingest; None where the document is as the event says already.

    Raises:
        ChangeMalformed: the key names no dataset.
        DocumentRefused: the object or its sidecar can't be used; the reason stands on the document.
        Overtaken: it keeps changing while it is read.
    """
    try:
        return _take_steady(event, engine, objects, content, most)
    except _Refused:
        if not is_first:
            raise
        # Without its sequencer, which the document has already.
        present = replace(event, sequencer=None)
        return _take_steady(present, engine, objects, content, most)


def _take_steady(
    event: ObjectChange, engine: Engine, objects: ObjectReader, content: ContentStore, most: int
) -> Change | None:
    for _ in range(_TRIES - 1):
        try:
            return _take(event, engine, objects, content, most)
        except Overtaken:
            continue
    return _take(event, engine, objects, content, most)


def _take(
    event: ObjectChange, engine: Engine, objects: ObjectReader, content: ContentStore, most: int
) -> Change | None:
    dataset, write = _identify(event, engine)
    key = event.key.removesuffix(SIDECAR)
    # Without a sequencer nothing orders the event, and the present state wins.
    is_gone = event.removed and write.sequencer is not None
    try:
        found = None if is_gone else _read(objects, event.bucket, key, most)
    except _TooLarge as error:
        raise _refuse(engine, write, "too_large", str(error)) from error
    except DocumentRefused as error:
        raise _refuse(engine, write, error.code, str(error)) from error
    if found is None:
        if _is_sidecar(event):
            logger.info("a sidecar waits for its file", key=event.key)
            return None
        return _end(engine, write)
    try:
        media_type = find_media_type(write.name, found.media_type, found.data)
        metadata = _gather_metadata(event, engine, objects, dataset, found.data, media_type)
    except UnsupportedMediaType as error:
        raise _refuse(engine, write, "unsupported", str(error)) from error
    except ValueError as error:
        raise _refuse(engine, write, "sidecar", f"{write.name}{SIDECAR}: {error}") from error
    except InvalidRequest as error:
        raise _refuse(engine, write, "metadata", str(error)) from error
    except DocumentRefused as error:
        raise _refuse(engine, write, error.code, f"{write.name}{SIDECAR}: {error}") from error
    content_hash = sha256(found.data).hexdigest()
    write = replace(write, metadata=metadata, media_type=media_type, content_hash=content_hash)
    document, change = accept_document(engine, content, write, found.data)
    refused = change is None and document.indexing_status is IndexingStatus.ERROR
    if refused and document.sequencer == write.sequencer:
        # A redelivered event of a refused document fails again, and ends in the dead-letter queue.
        raise _Refused(document.error_code or "internal", document.error or "")
    return change


class _Refused(DocumentRefused):
    """The document was refused when this event was taken before."""


def _is_sidecar(event: ObjectChange) -> bool:
    return event.key.endswith(SIDECAR)


def _identify(event: ObjectChange, engine: Engine) -> tuple[Dataset, DocumentWrite]:
    """Returns an object's dataset, and its write before anything of it is read."""
    key = event.key.removesuffix(SIDECAR)
    dataset = _find_dataset(engine, key)
    uri = f"s3://{event.bucket}/{key}"
    document_id = name_document(dataset.id, uri)
    with read(engine) as connection:
        current = find_document(connection, dataset.tenant_id, document_id)
    return dataset, DocumentWrite(
        id=document_id,
        tenant_id=dataset.tenant_id,
        dataset_id=dataset.id,
        external_id=uri,
        source=uri,
        name=PurePosixPath(key).name,
        uploader="s3",
        metadata={},
        content_key=name_content(dataset, document_id),
        content_hash="",
        media_type="",
        # A sidecar has a sequencer of its own, which orders nothing about its object.
        sequencer=None if _is_sidecar(event) else event.sequencer,
        seen_version=current.version if current else 0,
    )


def _find_dataset(engine: Engine, key: str) -> Dataset:
    match = _KEY.fullmatch(key)
    if match is None:
        raise ChangeMalformed(f"the key {key!r} is not datasets/<dataset id>/<name>")
    with read(engine) as connection:
        dataset = find_dataset(connection, match["dataset"])
    if dataset is None:
        raise ChangeMalformed(f"the key {key!r} names a dataset that does not exist")
    if dataset.external is not None:
        raise ChangeMalformed(f"the key {key!r} names a dataset whose documents are not kept here")
    return dataset


def _end(engine: Engine, write: DocumentWrite) -> Change | None:
    with transaction(engine) as connection:
        return end_source(connection, write)


def _refuse(engine: Engine, write: DocumentWrite, code: str, reason: str) -> DocumentRefused:
    with transaction(engine) as connection:
        refuse_source(connection, write, code, reason)
    return DocumentRefused(code, reason)


def _gather_metadata(
    event: ObjectChange,
    engine: Engine,
    objects: ObjectReader,
    dataset: Dataset,
    data: bytes,
    media_type: str,
) -> JsonObject:
    """Returns an object's metadata: its sidecar's, then what its own front matter has besides."""
    own = read_own_metadata(data, media_type)
    key = event.key.removesuffix(SIDECAR)
    sidecar = _read_sidecar(objects, event.bucket, key + SIDECAR)
    with read(engine) as connection:
        declared = list_declared(connection, dataset.id)
    check_types(sidecar, declared, f"{PurePosixPath(key).name}{SIDECAR}: /metadataAttributes")
    validate_metadata(own, "front matter: ")
    check_types(own, declared, "front matter: ")
    metadata = {**own, **sidecar}
    validate_metadata(metadata, "front matter and sidecar: ")
    return metadata


def _read_sidecar(objects: ObjectReader, bucket: str, key: str) -> dict[str, Any]:
    found = _read(objects, bucket, key, SIDECAR_MAX_BYTES)
    return {} if found is None else parse_sidecar(found.data)


class _TooLarge(ValueError):
    """An object is over the limit."""


def _read(objects: ObjectReader, bucket: str, key: str, most: int) -> SourceObject | None:
    size = objects.size(bucket, key)
    # What is large is not read at all; what has become so since is read no further than that shows.
    found = objects.read(bucket, key, most) if size is not None and size <= most else None
    size = max(size or 0, len(found.data) if found else 0)
    if size > most:
        raise _TooLarge(f"The file has {size} bytes; the limit is {most}.")
    return found
