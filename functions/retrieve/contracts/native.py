"""The native contract: POST /v1/retrieve ⇄ Query and Result."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from functions.retrieve.contracts.attachments import (
    MOST_ATTACHMENTS,
    AttachmentBody,
    check_image,
    read_image,
)
from functions.retrieve.contracts.fit import keep_fitting, write_json
from functions.retrieve.contracts.spaces import check_spaces, list_spaces, read_vector
from functions.retrieve.query import Applied, AutomaticFilter, Query, Reranking, Result
from shared.errors import InvalidRequest
from shared.fusion.fuse import FusionMethod, FusionPlan, KeywordScoring
from shared.fusion.weighted import Weights
from shared.http.bodies import (
    NEEDS_VECTORS,
    RERANKED,
    Body,
    FusionBody,
    Numbers,
    QueryText,
    RetrievalBody,
)
from shared.metadata.conditions import Joiner, Tree
from shared.metadata.parse import parse_filter
from shared.metadata.variables import fill_conditions
from shared.model import Dataset, EmbeddingSpace, JsonObject, SearchMethod


class ChatModelBody(Body):
    """Which chat model finds the filter in the query."""

    provider: str | None = None
    model: Annotated[str, Field(min_length=1, max_length=2_048)]


class FilterBody(Body):
    """Which documents may be found."""

    mode: Literal["disabled", "manual", "automatic"] = "disabled"
    logical_operator: str | None = None
    conditions: Any = None
    inputs: dict[str, Any] | None = None
    model: ChatModelBody | None = None
    on_automatic_failure: Literal["unfiltered", "empty", "error"] = "unfiltered"


class RetrieveBody(RetrievalBody):
    """POST /v1/retrieve. Only query, or an attachment, and dataset_ids are required."""

    attachments: Annotated[list[AttachmentBody], Field(max_length=MOST_ATTACHMENTS)] | None = None
    query: Annotated[QueryText | None, Field(validate_default=True)] = None
    dataset_ids: Annotated[list[str], Field(min_length=1, max_length=100)]
    metadata_filtering: FilterBody | None = None
    on_channel_failure: Literal["degrade", "error"] = "degrade"
    deadline_ms: Annotated[int, Field(ge=1, le=60_000)] = 2_500
    explain: bool = False
    query_vector: Numbers | None = None

    @field_validator("query")
    @classmethod
    def _ask_something(cls, query: str | None, info: ValidationInfo) -> str | None:
        if query is None and info.data.get("attachments", True) in (None, []):
            raise ValueError("is needed, or an attachment")
        return query


def to_query(body: RetrieveBody, tenant_id: str, datasets: Sequence[Dataset]) -> Query:
    """Returns what a body asks for; settings it leaves out come from its first dataset.

    Raises:
        InvalidRequest: naming the field.
    """
    spaces = list_spaces(datasets)
    settings = RetrievalBody.model_validate(
        _defaults(datasets[0], spaces)
        | body.model_dump(include=set(RetrievalBody.model_fields), exclude_unset=True)
    )
    reranking = _read_reranking(settings.fusion)
    plan = _plan(settings, body.fusion, is_apart=len(spaces) > 1)
    check_spaces(spaces, plan)
    image = read_image(body.attachments)
    if image is not None:
        check_image(plan.search_method, datasets, is_reranked=reranking is not None)
        _check_beside(body, plan.search_method, datasets)
    return Query(
        tenant_id=tenant_id,
        text=body.query or "",
        image=image,
        datasets=datasets,
        filter=_read_filter(body.metadata_filtering),
        automatic=_read_automatic(body.metadata_filtering),
        plan=plan,
        reranking=reranking,
        top_k=settings.top_k,
        vector=read_vector(body.query_vector, spaces, plan.search_method),
        deadline=body.deadline_ms / 1000,
        fails_on_channel=body.on_channel_failure == "error",
        condition=_pass_on(body.metadata_filtering),
    )


def to_answer(body: RetrieveBody, result: Result) -> bytes:
    """Returns the JSON answer; whole records are cut to keep it under what Lambda can answer."""
    answer: dict[str, Any] = {
        "records": [],
        "applied_filter": _show_filter(body.metadata_filtering, result),
        "degraded": [{"channel": d.channel, "reason": d.reason} for d in result.degraded],
        "truncated": False,
        "timings_ms": result.timings,
    }
    if body.explain:
        answer["left_out_words"] = result.left_out_words
        answer["dropped"] = [
            {"chunk_id": d.chunk_id, "reason": d.reason, "explain": d.explanation.to_json()}
            for d in result.dropped
        ]
    shown = (_show_record(record, body.explain) for record in result.records)
    answer["records"] = keep_fitting(shown, answer)
    answer["truncated"] = len(answer["records"]) < len(result.records)
    return write_json(answer)


def _defaults(dataset: Dataset, spaces: Sequence[EmbeddingSpace]) -> dict[str, Any]:
    economy = bool(spaces) and not spaces[0].has_vectors
    usual = {"search_method": SearchMethod.KEYWORD} if economy else {}
    return usual | dict(dataset.retrieval)


def _plan(settings: RetrievalBody, sent: FusionBody | None, *, is_apart: bool) -> FusionPlan:
    method = SearchMethod(settings.search_method)
    fusion = settings.fusion or FusionBody()
    # A dataset's default waits for hybrid queries; only what the caller names is wrong here.
    names_method = sent is not None and "method" in sent.model_fields_set
    is_reranked = fusion.method == RERANKED
    if method is not SearchMethod.HYBRID and names_method and not is_reranked:
        raise InvalidRequest.at(
            "/fusion/method", f"{fusion.method} belongs to hybrid_search, not to {method}"
        )
    weights = fusion.weights
    return FusionPlan(
        search_method=method,
        method=_choose_fusion(method, fusion, is_apart=is_apart),
        weights=Weights(weights.vector, weights.keyword) if weights else None,
        keyword_scoring=KeywordScoring(fusion.keyword_scoring),
        rank_constant=fusion.rank_constant,
        threshold=settings.score_threshold,
    )


def _choose_fusion(method: SearchMethod, fusion: FusionBody, *, is_apart: bool) -> FusionMethod:
    if fusion.method == RERANKED:
        # Cosines of different models are not compared, even where a reranking model fails.
        return FusionMethod.RRF if is_apart else FusionMethod.WEIGHTED_SCORE
    if method is not SearchMethod.HYBRID:
        return FusionMethod.WEIGHTED_SCORE
    return FusionMethod(fusion.method)


def _read_reranking(fusion: FusionBody | None) -> Reranking | None:
    if fusion is None or fusion.method != RERANKED:
        return None
    named = fusion.reranking_model
    return Reranking(named.provider, named.model) if named else Reranking()


def _check_beside(body: RetrieveBody, method: SearchMethod, datasets: Sequence[Dataset]) -> None:
    """Refuses a vector beside an image, and no words where something finds by words alone."""
    if body.query_vector is not None:
        raise InvalidRequest.at("/query_vector", "an image is embedded here: send one of both")
    filtering = body.metadata_filtering
    readers = {
        f"{method} finds": method not in NEEDS_VECTORS,
        "an external knowledge base finds": any(each.external for each in datasets),
        "automatic mode reads the filter": filtering is not None and filtering.mode == "automatic",
    }
    for reader, reads_words in readers.items():
        if reads_words and body.query is None:
            raise InvalidRequest.at("/query", f"is needed: {reader} by its words")


def _read_filter(body: FilterBody | None) -> Tree | None:
    if body is not None and body.conditions and "mode" not in body.model_fields_set:
        raise InvalidRequest.at(
            "/metadata_filtering/mode", "is needed with conditions: manual applies them"
        )
    if body is None or body.mode != "manual":
        return None
    return parse_filter(
        body.logical_operator,
        body.conditions,
        pointer="/metadata_filtering",
        inputs=body.inputs or {},
    )


def _read_automatic(body: FilterBody | None) -> AutomaticFilter | None:
    if body is None or body.mode != "automatic":
        return None
    if body.conditions:
        raise InvalidRequest.at("/metadata_filtering/conditions", "belong to manual mode")
    word = (body.logical_operator or Joiner.OR).lower()
    if word not in set(Joiner):
        raise InvalidRequest.at("/metadata_filtering/logical_operator", "must be and or or")
    return AutomaticFilter(
        joiner=Joiner(word),
        on_failure=body.on_automatic_failure,
        provider=body.model.provider if body.model else None,
        model=body.model.model if body.model else None,
    )


def _pass_on(body: FilterBody | None) -> JsonObject | None:
    """Returns the conditions as they were sent, variables filled, for external bases."""
    if body is None or body.mode != "manual" or not body.conditions:
        return None
    place, inputs = "/metadata_filtering", body.inputs or {}
    return {
        "logical_operator": (body.logical_operator or "and").lower(),
        "conditions": fill_conditions(body.conditions, inputs, place),
    }


def _show_record(record: Any, explain: bool) -> dict[str, Any]:
    text = record.text
    shown = {
        "chunk_id": text.chunk_id,
        "document_id": text.document_id,
        "dataset_id": text.dataset_id,
        "score": record.score,
        "content": text.content,
        "title": text.title,
        "metadata": text.metadata,
        "position": text.position,
        "page": text.page,
        "source": text.source,
    }
    return shown | ({"explain": record.explanation.to_json()} if explain else {})


def _show_filter(body: FilterBody | None, result: Result) -> dict[str, Any] | None:
    if body is None or body.mode == "disabled":
        return None
    if result.applied is not None:
        return _show_applied(result.applied, result.matched_documents)
    return {
        "mode": body.mode,
        "logical_operator": (body.logical_operator or "and").lower(),
        "conditions": body.conditions or [],
        "dropped": [],
        "failure": None,
        "matched_documents": result.matched_documents,
    }


def _show_applied(applied: Applied, matched_documents: int | None) -> dict[str, Any]:
    return {
        "mode": "automatic",
        "logical_operator": applied.joiner,
        "conditions": list(applied.conditions),
        "dropped": [{"condition": each, "reason": reason} for each, reason in applied.dropped],
        "failure": applied.failure,
        "matched_documents": matched_documents,
    }
