"""The routes of retrieval: each contract's body → Query → Result → its answer."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from functions.retrieve.contracts import dify, native
from functions.retrieve.health import check_health
from functions.retrieve.parts import Parts
from functions.retrieve.pipeline import retrieve
from shared.errors import NotFound, Problem
from shared.http.dialects import Router
from shared.http.keys import Caller
from shared.model import Dataset
from shared.postgres.datasets import get_datasets
from shared.postgres.engine import read


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the retrieval routes.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = Router(tags=["retrieval"], dialect=dify.DIALECT)

    @router.post("/v1/retrieve")
    def post_retrieve(
        body: native.RetrieveBody, caller: Annotated[Caller, Depends(caller)]
    ) -> Response:
        return Response(answer(body, caller.tenant_id, parts), media_type="application/json")

    @router.post("/retrieval")
    def post_retrieval(
        body: dify.DifyRetrieveBody, caller: Annotated[Caller, Depends(caller)]
    ) -> Response:
        datasets = _find_datasets(caller.tenant_id, [body.knowledge_id], parts)
        query = dify.to_query(body, datasets[0].tenant_id, datasets)
        answer = dify.to_answer(retrieve(query, parts))
        return Response(answer, media_type="application/json")

    @router.get("/health", responses={503: {"description": "A store is silent"}})
    def get_health(response: Response, deep: bool = False) -> dict[str, Any]:
        return check_health(parts, deep, response)

    return router


def answer(body: native.RetrieveBody, tenant_id: str, parts: Parts) -> bytes:
    """Returns the native contract's answer to a body."""
    try:
        datasets = _find_datasets(tenant_id, body.dataset_ids, parts)
    except NotFound as error:
        raise NotFound(str(error), Problem("/dataset_ids", str(error))) from error
    # As the stores write the id, whatever form it was sent in.
    query = native.to_query(body, datasets[0].tenant_id, datasets)
    return native.to_answer(body, retrieve(query, parts))


def _find_datasets(tenant_id: str, dataset_ids: Sequence[str], parts: Parts) -> list[Dataset]:
    with read(parts.engine) as connection:
        return get_datasets(connection, tenant_id, dataset_ids)
