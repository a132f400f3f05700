"""Taking documents in: what was sent becomes content, document and outbox row, or a refusal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from uuid import uuid4

from functions.manage.announce import announce
from functions.manage.bodies import DocumentBody, FileBody
from functions.manage.check import (
    check_embeds,
    check_metadata,
    check_sent,
    check_size,
    encode_document,
    gather_metadata,
)
from functions.manage.parts import Parts
from functions.manage.uploads import fetch_upload, name_upload
from shared.errors import InvalidRequest, Unavailable, WinnowError
from shared.files.media import find_media_type
from shared.http.forms import File
from shared.http.keys import Caller
from shared.metadata.fields import FieldType
from shared.model import Change, Dataset, Document
from shared.postgres.datasets import get_dataset
from shared.postgres.documents import DocumentWrite
from shared.postgres.engine import read
from shared.postgres.fields import list_declared
from shared.postgres.intake import accept_document, name_content, name_document

type Taken = tuple[Document, Change | None]
type Take = Callable[[], Taken]


@dataclass(frozen=True, slots=True)
class Target:
    """Where documents go, and who sends them."""

    parts: Parts
    dataset: Dataset
    declared: Mapping[str, FieldType]
    sender: str


def open_target(parts: Parts, caller: Caller, dataset_id: str) -> Target:
    """Returns a dataset of the caller's that takes documents; raises `NotFound`."""
    with read(parts.engine) as connection:
        dataset = get_dataset(connection, caller.tenant_id, dataset_id)
        if dataset.external is not None:
            raise InvalidRequest.at("", "this dataset is external: its documents are not kept here")
        return Target(parts, dataset, list_declared(connection, dataset.id), caller.name)


def take_body(target: Target, body: DocumentBody, pointer: str = "") -> Taken:
    """Takes a document that was sent as JSON.

    Raises:
        InvalidRequest: naming every wrong place.
        TooLarge: its text is over the limit.
        UnsupportedMediaType: what was uploaded has no format that is read.
    """
    check_sent(body, target.dataset, target.parts.max_bytes, pointer)
    if body.upload_id is not None:
        return _take_upload(target, body, body.upload_id, pointer)
    data, media_type = encode_document(body)
    content = _Content(data, media_type, f"{pointer}/text", f"{pointer}/metadata")
    return _accept(target, body, content)


def take_file(target: Target, file: File, body: FileBody, base: str = "") -> Taken:
    """Takes a file, with what was sent beside it.

    Raises:
        InvalidRequest: naming every wrong place.
        TooLarge: it is over the limit.
        UnsupportedMediaType: it has no format that is read.
    """
    pointer = base or "/file"
    check_embeds(target.dataset, pointer)
    check_size(len(file.data), target.parts.max_bytes, pointer)
    media_type = find_media_type(file.name, file.media_type, file.data)
    return _accept(target, body, _Content(file.data, media_type, pointer, f"{base}/metadata"))


def take_all(target: Target, takes: Iterable[Take]) -> list[Document | WinnowError]:
    """Takes documents one by one, each judged alone; a store that is silent ends it."""
    taken: list[Document | WinnowError] = []
    changes: list[Change | None] = []
    try:
        for take in takes:
            try:
                document, change = take()
            except Unavailable:
                raise
            except WinnowError as error:
                taken.append(error)
            else:
                taken.append(document)
                changes.append(change)
    finally:  # what is taken stays taken, whatever becomes of the rest
        announce(target.parts.queue, changes)
    return taken


@dataclass(frozen=True, slots=True)
class _Content:
    """Bytes to keep, and the places of the request where they and the metadata were."""

    data: bytes
    media_type: str
    pointer: str
    metadata_pointer: str


def _take_upload(target: Target, body: DocumentBody, upload_id: str, base: str) -> Taken:
    pointer = f"{base}/upload_id"
    data = fetch_upload(target.parts, target.dataset, upload_id, pointer)
    media_type = find_media_type(body.name, "", data)
    content = _Content(data, media_type, pointer, f"{base}/metadata")
    # Asked for again, it is the same document.
    return _accept(target, body, content, name_upload(upload_id))


def _accept(
    target: Target, body: FileBody, content: _Content, identity: str | None = None
) -> Taken:
    check_metadata(body.metadata, target.declared, content.metadata_pointer)
    metadata = gather_metadata(
        body.metadata or {},
        content.data,
        content.media_type,
        target.declared,
        content.pointer,
        content.metadata_pointer,
    )
    identity = body.external_id if body.external_id is not None else identity
    id_ = str(uuid4()) if identity is None else name_document(target.dataset.id, identity)
    write = DocumentWrite(
        id=id_,
        tenant_id=target.dataset.tenant_id,
        dataset_id=target.dataset.id,
        external_id=body.external_id,
        source=body.source,
        name=body.name,
        uploader=target.sender,
        metadata=metadata,
        version=body.version,
        content_key=name_content(target.dataset, id_),
        content_hash=sha256(content.data).hexdigest(),
        media_type=content.media_type,
    )
    return accept_document(target.parts.engine, target.parts.content, write, content.data)
