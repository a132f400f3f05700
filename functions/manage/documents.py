"""/v1/documents: showing, changing and deleting them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi import Query as Parameter

from functions.manage.announce import announce
from functions.manage.answers import ACCEPTED, SETTLED, answer_one, choose_end
from functions.manage.bodies import DocumentPatch, read_changes
from functions.manage.pages import fit, parse_cursor, write_cursor
from functions.manage.parts import Parts
from functions.manage.show import show_document, show_documents
from shared.http.keys import Caller
from shared.metadata.fields import check_types
from shared.metadata.filter_values import validate_metadata
from shared.model import IndexingStatus
from shared.postgres import documents
from shared.postgres.datasets import get_dataset
from shared.postgres.engine import read, transaction
from shared.postgres.fields import list_declared


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the document routes.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(prefix="/v1", tags=["documents"])
    who = Annotated[Caller, Depends(caller)]
    limit = Annotated[int, Parameter(ge=1, le=500)]

    @router.get("/datasets/{dataset_id}/documents")
    def list_some(
        dataset_id: str,
        caller: who,
        status: IndexingStatus | None = None,
        cursor: str | None = None,
        limit: limit = 50,
    ) -> dict[str, Any]:
        with read(parts.engine) as connection:
            dataset = get_dataset(connection, caller.tenant_id, dataset_id)
            page = documents.list_documents(
                connection,
                caller.tenant_id,
                dataset.id,
                status=status,
                after=parse_cursor(cursor),
                limit=limit + 1,
            )
        shown = fit(show_documents(parts.engine, page[:limit]))
        more = write_cursor(page[len(shown) - 1]) if len(page) > len(shown) else None
        return {"documents": shown, "next_cursor": more}

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


def _changes(body: DocumentPatch) -> dict[str, Any]:
    values = read_changes(body, "metadata")
    if "metadata" in values:
        validate_metadata(body.metadata, "/metadata")
        values["doc_metadata"] = values.pop("metadata") or {}
    return values
