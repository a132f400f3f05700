"""/v1/documents: taking documents in, showing, changing and deleting them.

A write answers once bytes, document and outbox row are safe; `wait=true` waits until queries
find it, or do not any more.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Response
from fastapi import Query as Parameter

from functions.manage.announce import announce
from functions.manage.answers import ACCEPTED, SETTLED, answer, answer_one, choose_end
from functions.manage.bodies import BatchBody, DocumentBody, DocumentPatch, read_changes
from functions.manage.check import (
    check_document,
    encode_document,
    gather_metadata,
    parse_document,
)
from functions.manage.pages import parse_cursor, write_cursor
from functions.manage.parts import Parts
from functions.manage.show import show_document, show_documents
from shared.errors import InvalidRequest, Unavailable, WinnowError
from shared.http.keys import Caller
from shared.http.problems import describe
from shared.metadata.fields import FieldType, check_types
from shared.metadata.filter_values import validate_metadata
from shared.model import Change, Dataset, Document, IndexingStatus
from shared.postgres import documents
from shared.postgres.datasets import get_dataset
from shared.postgres.documents import DocumentWrite
from shared.postgres.engine import read, transaction
from shared.postgres.fields import list_declared
from shared.postgres.intake import accept_document, name_content, name_document


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the document routes.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(prefix="/v1", tags=["documents"])
    who = Annotated[Caller, Depends(caller)]
    limit = Annotated[int, Parameter(ge=1, le=500)]

    @router.post("/datasets/{dataset_id}/documents", status_code=ACCEPTED)
    def create(
        dataset_id: str, body: DocumentBody, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        dataset = _get_writable(parts, caller, dataset_id)
        declared = _list_declared(parts, dataset)
        document, change = _take(parts, dataset, declared, caller, body)
        announce(parts.queue, [change])
        texts = [chunk.text for chunk in body.chunks or ()]
        return answer_one(parts, document, end, response) | _count_blank(texts)

    @router.post("/datasets/{dataset_id}/documents/batch", status_code=ACCEPTED)
    def create_batch(
        dataset_id: str, body: BatchBody, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        dataset = _get_writable(parts, caller, dataset_id)
        taken = _take_all(parts, dataset, caller, body)
        stored = [each for each in taken if isinstance(each, Document)]
        shown = iter(answer(parts, stored, end, response))
        answers = [
            next(shown) | _count_blank([chunk["text"] for chunk in sent.get("chunks") or ()])
            if isinstance(each, Document)
            else describe(each)
            for each, sent in zip(taken, body.documents, strict=True)
        ]
        return {"documents": answers}

    @router.get("/datasets/{dataset_id}/documents")
    def list_some(
        dataset_id: str,
        caller: who,
        status: IndexingStatus | None = None,
        cursor: str | None = None,
        limit: limit = 50,
    ) -> dict[str, Any]:
        dataset = _get_dataset(parts, caller, dataset_id)
        with read(parts.engine) as connection:
            page = documents.list_documents(
                connection,
                caller.tenant_id,
                dataset.id,
                status=status,
                after=parse_cursor(cursor),
                limit=limit + 1,
            )
        more = write_cursor(page[limit - 1]) if len(page) > limit else None
        return {"documents": show_documents(parts.engine, page[:limit]), "next_cursor": more}

    @router.get("/documents/{document_id}")
    def get(document_id: str, caller: who) -> dict[str, Any]:
        with read(parts.engine) as connection:
            document = documents.get_document(connection, caller.tenant_id, document_id)
        return show_document(parts.engine, document)

    @router.patch("/documents/{document_id}")
    def change(
        document_id: str, body: DocumentPatch, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        # PostgreSQL alone decides these, so they hold at once: there is nothing to wait for.
        response.status_code = SETTLED if wait else 200
        values = _changes(body)
        with transaction(parts.engine) as connection:
            document = documents.get_document(connection, caller.tenant_id, document_id)
            if "doc_metadata" in values:
                declared = list_declared(connection, document.dataset_id)
                check_types(values["doc_metadata"], declared, "/metadata")
            document = documents.change_document(connection, caller.tenant_id, document_id, values)
        return show_document(parts.engine, document)

    @router.delete("/documents/{document_id}", status_code=ACCEPTED)
    def delete(
        document_id: str, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        with transaction(parts.engine) as connection:
            document, change = documents.delete_document(connection, caller.tenant_id, document_id)
        announce(parts.queue, [change])
        return answer_one(parts, document, end, response)

    @router.post("/documents/{document_id}/retry", status_code=ACCEPTED)
    def retry(
        document_id: str, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        with transaction(parts.engine) as connection:
            documents.get_document(connection, caller.tenant_id, document_id)
            document, change = documents.retry_document(connection, caller.tenant_id, document_id)
        announce(parts.queue, [change])
        return answer_one(parts, document, end, response)

    return router


def _get_dataset(parts: Parts, caller: Caller, dataset_id: str) -> Dataset:
    with read(parts.engine) as connection:
        return get_dataset(connection, caller.tenant_id, dataset_id)


def _get_writable(parts: Parts, caller: Caller, dataset_id: str) -> Dataset:
    dataset = _get_dataset(parts, caller, dataset_id)
    if dataset.external is not None:
        raise InvalidRequest.at("", "this dataset is external: its documents are not kept here")
    return dataset


def _list_declared(parts: Parts, dataset: Dataset) -> Mapping[str, FieldType]:
    with read(parts.engine) as connection:
        return list_declared(connection, dataset.id)


def _take(
    parts: Parts,
    dataset: Dataset,
    declared: Mapping[str, FieldType],
    caller: Caller,
    body: DocumentBody,
    pointer: str = "",
) -> tuple[Document, Change | None]:
    check_document(body, dataset, declared, parts.max_bytes, pointer)
    metadata = gather_metadata(body, declared, pointer)
    data, media_type = encode_document(body)
    named = body.external_id is not None
    id_ = name_document(dataset.id, str(body.external_id)) if named else str(uuid4())
    write = DocumentWrite(
        id=id_,
        tenant_id=dataset.tenant_id,
        dataset_id=dataset.id,
        external_id=body.external_id,
        source=body.source,
        name=body.name,
        uploader=caller.name,
        metadata=metadata,
        version=body.version,
        content_key=name_content(dataset, id_),
        content_hash=sha256(data).hexdigest(),
        media_type=media_type,
    )
    return accept_document(parts.engine, parts.content, write, data)


def _take_all(
    parts: Parts, dataset: Dataset, caller: Caller, body: BatchBody
) -> list[Document | WinnowError]:
    declared = _list_declared(parts, dataset)
    taken: list[Document | WinnowError] = []
    changes: list[Change | None] = []
    try:
        for n, sent in enumerate(body.documents):
            pointer = f"/documents/{n}"
            try:
                one = parse_document(sent, pointer)
                document, change = _take(parts, dataset, declared, caller, one, pointer)
            except Unavailable:
                raise
            except WinnowError as error:
                taken.append(error)
            else:
                taken.append(document)
                changes.append(change)
    finally:  # what is taken stays taken, whatever becomes of the rest
        announce(parts.queue, changes)
    return taken


def _count_blank(texts: Sequence[str]) -> dict[str, int]:
    """Reports the chunks that are left out because they are blank, if there are any."""
    blank = sum(not text.strip() for text in texts)
    return {"blank_chunks": blank} if blank else {}


def _changes(body: DocumentPatch) -> dict[str, Any]:
    values = read_changes(body, "metadata")
    if "metadata" in values:
        validate_metadata(body.metadata, "/metadata")
        values["doc_metadata"] = values.pop("metadata") or {}
    return values
