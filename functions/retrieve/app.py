"""The routes of retrieval: each contract's body → Query → Result → its answer."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from functions.retrieve.contracts import native
from functions.retrieve.health import check_health
from functions.retrieve.parts import Parts
from functions.retrieve.pipeline import retrieve
from shared.errors import NotFound, Problem
from shared.http.keys import Caller
from shared.postgres.datasets import get_datasets
from shared.postgres.engine import read


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the retrieval routes.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(tags=["retrieval"])

    @router.post("/v1/retrieve")
    def post_retrieve(
        body: native.RetrieveBody, caller: Annotated[Caller, Depends(caller)]
    ) -> Response:
        return Response(answer(body, caller.tenant_id, parts), media_type="application/json")

    @router.get("/health")
    def get_health(response: Response, deep: bool = False) -> dict[str, Any]:
        return check_health(parts, deep, response)

    return router


def answer(body: native.RetrieveBody, tenant_id: str, parts: Parts) -> bytes:
    """Returns the native contract's answer to a body."""
    with read(parts.engine) as connection:
        try:
            datasets = get_datasets(connection, tenant_id, body.dataset_ids)
        except NotFound as error:
            raise NotFound(str(error), Problem("/dataset_ids", str(error))) from error
    # As the stores write the id, whatever form it was sent in.
    query = native.to_query(body, datasets[0].tenant_id, datasets)
    return native.to_answer(body, retrieve(query, parts))
