"""What users put into a bucket: an object's present state becomes a document, or ends one.

Objects lie under datasets/<dataset id>/…; `<key>.metadata.json` beside one holds its metadata, as
Bedrock's {"metadataAttributes": {…}}.
"""

import mimetypes
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Engine

from functions.ingest.events import ObjectChange
from functions.ingest.sidecar import SIDECAR, SIDECAR_MAX_BYTES, parse_sidecar
from shared.errors import ChangeMalformed, DocumentRefused, InvalidRequest
from shared.metadata.fields import check_types
from shared.model import Change, Dataset, IndexingStatus, JsonObject
from shared.ports import ContentStore, ObjectReader
from shared.postgres import outbox
from shared.postgres.datasets import find_dataset
from shared.postgres.documents import (
    DocumentWrite,
    delete_document,
    fail_document,
    find_document,
    save_document,
)
from shared.postgres.engine import read, transaction
from shared.postgres.fields import list_declared
from shared.postgres.intake import accept_document, name_content, name_document

_KEY = re.compile(r"datasets/(?P<dataset>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})/.*[^/]", re.S)


def take_object(
    event: ObjectChange, engine: Engine, objects: ObjectReader, content: ContentStore, most: int
) -> Change | None:
    """Saves what an object holds now as a document, or deletes the document of one that is gone.

    Returns:
        The change to ingest; None where the document is as the event says already.

    Raises:
        ChangeMalformed: the key names no dataset.
        DocumentRefused: the object or its sidecar can't be used; the reason stands on the document.
    """
    # A sidecar has a sequencer of its own, which orders nothing about its object.
    sidecar = event.key.endswith(SIDECAR)
    key = event.key.removesuffix(SIDECAR)
    sequencer = None if sidecar else event.sequencer
    dataset = _find_dataset(engine, key)
    uri = f"s3://{event.bucket}/{key}"
    document_id = name_document(dataset.id, uri)
    # Without a sequencer nothing orders the event, and the present state wins.
    is_gone = event.removed and sequencer is not None
    size = None if is_gone else objects.size(event.bucket, key)
    if size is None:
        return None if sidecar else _end(engine, dataset, document_id, sequencer)
    data = objects.read(event.bucket, key) if size <= most else b""
    if data is None:
        return _end(engine, dataset, document_id, sequencer)
    digest = sha256(data).hexdigest() if size <= most else f"{size} bytes"
    write = DocumentWrite(
        id=document_id,
        tenant_id=dataset.tenant_id,
        dataset_id=dataset.id,
        external_id=uri,
        source=uri,
        name=PurePosixPath(key).name,
        uploader="s3",
        metadata={},
        content_key=name_content(dataset, document_id),
        content_hash=digest,
        media_type=mimetypes.guess_type(key)[0] or "application/octet-stream",
        sequencer=sequencer,
    )
    if size > most:
        raise _refuse(engine, write, "too_large", f"{size} bytes; the limit is {most}")
    try:
        metadata = _read_sidecar(objects, event.bucket, key + SIDECAR)
        _check_types(engine, dataset, metadata)
    except ValueError as error:
        raise _refuse(engine, write, "sidecar", f"{write.name}{SIDECAR}: {error}") from error
    except InvalidRequest as error:
        raise _refuse(engine, write, "metadata", f"{write.name}{SIDECAR}: {error}") from error
    document, change = accept_document(engine, content, replace(write, metadata=metadata), data)
    refused = change is None and document.indexing_status is IndexingStatus.ERROR
    if refused and document.sequencer == sequencer:
        # A redelivered event of a refused document fails again, and ends in the dead-letter queue.
        raise DocumentRefused(document.error_code or "internal", document.error or "")
    return change


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


def _end(
    engine: Engine, dataset: Dataset, document_id: str, sequencer: str | None
) -> Change | None:
    with transaction(engine) as connection:
        if find_document(connection, dataset.tenant_id, document_id) is None:
            return None
        return delete_document(connection, dataset.tenant_id, document_id, sequencer=sequencer)[1]


def _refuse(engine: Engine, write: DocumentWrite, code: str, reason: str) -> DocumentRefused:
    with transaction(engine) as connection:
        current = find_document(connection, write.tenant_id, write.id)
        if current is not None:  # what is live keeps what it is found by
            write = replace(write, metadata=current.metadata)
        saved = save_document(connection, write)
        fail_document(connection, saved.document, code, reason)
        if saved.change is not None:
            outbox.finish(connection, saved.change)
    return DocumentRefused(code, reason)


def _check_types(engine: Engine, dataset: Dataset, metadata: JsonObject) -> None:
    with read(engine) as connection:
        declared = list_declared(connection, dataset.id)
    check_types(metadata, declared, "/metadataAttributes")


def _read_sidecar(objects: ObjectReader, bucket: str, key: str) -> dict[str, Any]:
    size = objects.size(bucket, key)
    if size is None:
        return {}
    if size > SIDECAR_MAX_BYTES:
        raise ValueError(f"{size} bytes; the limit is {SIDECAR_MAX_BYTES}")
    return parse_sidecar(objects.read(bucket, key) or b"{}")
