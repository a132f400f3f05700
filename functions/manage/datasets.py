"""/v1/datasets: making, showing and deleting knowledge bases."""

import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from functions.manage.answers import ACCEPTED, SETTLED
from functions.manage.bodies import (
    DatasetBody,
    DatasetPatch,
    ExternalBody,
    read_changes,
)
from functions.manage.clear import clear
from functions.manage.parts import CheckReranker, Parts
from shared.chunking import check_chunking, show_chunking
from shared.errors import InvalidRequest
from shared.external.guard import EndpointRefused, parse_endpoint
from shared.http.bodies import RERANKED, RetrievalBody, check_method
from shared.http.keys import Caller
from shared.model import (
    NO_VECTORS,
    Dataset,
    EmbeddingSpace,
    ExternalBase,
    IndexingStatus,
    IndexingTechnique,
    SearchMethod,
)
from shared.models.embedders import choose_space
from shared.postgres import datasets, removals
from shared.postgres.documents import count_statuses
from shared.postgres.engine import read, transaction


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the dataset routes.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(prefix="/v1/datasets", tags=["datasets"])
    who = Annotated[Caller, Depends(caller)]

    @router.post("", status_code=201)
    def create(body: DatasetBody, caller: who) -> dict[str, Any]:
        external = _external(body, parts.external_hosts)
        space = None if external else _space(body, parts.providers)
        _check_retrieval(body.retrieval, space, parts.check_reranker)
        with transaction(parts.engine) as connection:
            made = datasets.create_dataset(
                connection,
                tenant_id=caller.tenant_id,
                name=body.name,
                description=body.description,
                indexing_technique=IndexingTechnique(body.indexing_technique),
                space=space or NO_VECTORS,
                retrieval=body.retrieval.model_dump(exclude_unset=True),
                chunking=check_chunking(body.chunking, "/chunking"),
                external=external,
            )
        return show(made)

    @router.get("")
    def list_all(caller: who) -> dict[str, Any]:
        with read(parts.engine) as connection:
            return {
                "datasets": [show(d) for d in datasets.list_datasets(connection, caller.tenant_id)]
            }

    @router.get("/{dataset_id}")
    def get(dataset_id: str, caller: who) -> dict[str, Any]:
        with read(parts.engine) as connection:
            dataset = datasets.get_dataset(connection, caller.tenant_id, dataset_id)
            if dataset.external is not None:
                return show(dataset)
            counts = count_statuses(connection, dataset.id)
        return show(dataset) | {"documents": {each: counts.get(each, 0) for each in IndexingStatus}}

    @router.patch("/{dataset_id}")
    def change(dataset_id: str, body: DatasetPatch, caller: who) -> dict[str, Any]:
        values = read_changes(body)
        if body.chunking is not None:
            values["chunking"] = asdict(check_chunking(body.chunking, "/chunking"))
        if body.external is not None:
            values["external"] = asdict(_check_external(body.external, parts.external_hosts))
        with transaction(parts.engine) as connection:
            dataset = datasets.get_dataset(connection, caller.tenant_id, dataset_id)
            is_external = dataset.external is not None
            _check_kind(body, is_external)
            if body.retrieval is not None:
                space = None if is_external else dataset.space
                _check_retrieval(body.retrieval, space, parts.check_reranker)
            values["updated_at"] = datetime.now(UTC)
            return show(datasets.change_dataset(connection, caller.tenant_id, dataset_id, values))

    @router.delete("/{dataset_id}", status_code=ACCEPTED)
    def delete(
        dataset_id: str, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = time.monotonic() + parts.wait_seconds
        with transaction(parts.engine) as connection:
            id_, since = removals.mark_deleted(connection, caller.tenant_id, dataset_id)
        left = clear(parts.engine, parts.queue, id_, end, wait=wait)
        if wait and not left:
            response.status_code = SETTLED
        return {"id": id_, "deleted_at": since, "documents_left": left}

    return router


def show(dataset: Dataset) -> dict[str, Any]:
    """Returns a dataset as the API shows it."""
    embedding = asdict(dataset.space) if dataset.space.has_vectors else None
    external = dataset.external
    shown = {
        "id": dataset.id,
        "name": dataset.name,
        "description": dataset.description,
        "provider": "external" if external else "internal",
        "indexing_technique": None if external else dataset.indexing_technique,
        "embedding": embedding,
        "retrieval": dataset.retrieval,
        "chunking": show_chunking(dataset.chunking),
        "searchable_documents": dataset.searchable_count,
        "created_at": dataset.created_at,
        "updated_at": dataset.updated_at,
    }
    if external is not None:
        shown["external"] = {
            "endpoint": external.endpoint,
            "knowledge_id": external.knowledge_id,
        }
    return shown


_OF_OUR_OWN = ("indexing_technique", "embedding", "chunking")
"""What an external dataset has none of."""


def _external(body: DatasetBody, hosts: frozenset[str]) -> ExternalBase | None:
    _check_kind(body, body.provider == "external")
    if body.provider == "internal":
        return None
    if body.external is None:
        raise InvalidRequest.at("/external", "an external dataset needs to know where to ask")
    return _check_external(body.external, hosts)


def _check_kind(body: DatasetBody | DatasetPatch, is_external: bool) -> None:
    """Refuses what the other kind of dataset has."""
    for field in _OF_OUR_OWN if is_external else ("external",):
        if getattr(body, field, None) is not None and field in body.model_fields_set:
            kind = "an external" if is_external else "an internal"
            raise InvalidRequest.at(f"/{field}", f"{kind} dataset has none")


def _check_external(body: ExternalBody, hosts: frozenset[str]) -> ExternalBase:
    try:
        parse_endpoint(body.endpoint, hosts)
    except EndpointRefused as error:
        raise InvalidRequest.at("/external/endpoint", str(error)) from error
    return ExternalBase(body.endpoint, body.knowledge_id, body.api_key.get_secret_value())


def _check_retrieval(
    retrieval: RetrievalBody, space: EmbeddingSpace | None, check_reranker: CheckReranker
) -> None:
    fusion, pointer = retrieval.fusion, "/retrieval/fusion"
    if fusion is not None and fusion.method == RERANKED:
        asked = fusion.reranking_model
        provider, model = (asked.provider, asked.model) if asked else (None, None)
        check_reranker(provider, model, space, f"{pointer}/reranking_model")
    named = retrieval.search_method if "search_method" in retrieval.model_fields_set else None
    if named is not None and space is not None:
        check_method(SearchMethod(named), space, "/retrieval/search_method")


def _space(body: DatasetBody, providers: frozenset[str]) -> EmbeddingSpace:
    if body.indexing_technique == "economy":
        if body.embedding is not None:
            raise InvalidRequest.at("/embedding", "an economy dataset has no embeddings")
        return NO_VECTORS
    if body.embedding is None:
        raise InvalidRequest.at("/embedding", "a high_quality dataset needs an embedding")
    if body.embedding.provider not in providers:
        raise InvalidRequest.at(
            "/embedding/provider",
            f"{body.embedding.provider} is not set up here; {', '.join(sorted(providers))} are",
        )
    sent = body.embedding
    return choose_space(sent.provider, sent.model, sent.dimension)
