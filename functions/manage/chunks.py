"""/v1/chunks: what a document was cut into, shown and switched on and off."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi import Query as Parameter

from functions.manage.answers import SETTLED
from functions.manage.bodies import ChunkPatch
from functions.manage.pages import fit
from functions.manage.parts import Parts
from functions.manage.show import show_chunk
from shared.http.keys import Caller
from shared.postgres.documents import get_document
from shared.postgres.engine import read, transaction
from shared.postgres.live_chunks import list_live, switch_chunk

MOST_POSITION = 2**31 - 1


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the chunk routes.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(prefix="/v1", tags=["chunks"])
    who = Annotated[Caller, Depends(caller)]

    @router.get("/documents/{document_id}/chunks")
    def list_some(
        document_id: str,
        caller: who,
        after: Annotated[int, Parameter(ge=0, le=MOST_POSITION)] = 0,
        limit: Annotated[int, Parameter(ge=1, le=500)] = 100,
    ) -> dict[str, Any]:
        with read(parts.engine) as connection:
            document = get_document(connection, caller.tenant_id, document_id)
            page = list_live(connection, document, after, limit + 1)
        shown = fit([show_chunk(chunk) for chunk in page[:limit]])
        more = page[len(shown) - 1].position if len(page) > len(shown) else None
        return {"chunks": shown, "next_after": more}

    @router.patch("/chunks/{chunk_id}")
    def change(
        chunk_id: str, body: ChunkPatch, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        # As of documents: PostgreSQL alone decides, so it holds at once.
        response.status_code = SETTLED if wait else 200
        with transaction(parts.engine) as connection:
            chunk = switch_chunk(connection, caller.tenant_id, chunk_id, enabled=body.enabled)
        return show_chunk(chunk)

    return router
