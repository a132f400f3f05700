"""Dify's External Knowledge API: POST /retrieval ⇄ Query and Result.

Its body says less than the native one, so it becomes one; the filter alone is read from here. What
Dify does not send yet is ignored, but for what stands in a filter: that is never widened.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from starlette.exceptions import HTTPException

from functions.retrieve.contracts import native
from functions.retrieve.contracts.fit import keep_fitting, write_json
from functions.retrieve.query import Query, Result
from shared.errors import (
    Forbidden,
    InvalidRequest,
    KeyUnknown,
    NotFound,
    Problem,
    Unauthorized,
)
from shared.http.bodies import MOST_TOP_K, Body, QueryText
from shared.http.dialects import Dialect
from shared.metadata.conditions import Joiner, Tree
from shared.metadata.operators import NEGATIVE, SPELLINGS, Operator
from shared.metadata.parse import parse_filter
from shared.model import Dataset, JsonObject
from shared.telemetry import logger

HEADER_MALFORMED, KEY_REFUSED, BASE_UNKNOWN = 1001, 1002, 2001
"""Dify's error codes; every other error has its HTTP status as code."""

_FILTER = "/metadata_condition"
_SPREAD = re.compile(rf"^({_FILTER}/conditions/\d+)/conditions/\d+")
_OLD_SPELLINGS = {"null": Operator.EMPTY, "not null": Operator.NOT_EMPTY}
_NEGATIVE = {*NEGATIVE, Operator.EMPTY}


class _Tolerant(BaseModel):
    model_config = ConfigDict(strict=True)


class RetrievalSetting(_Tolerant):
    """How much is wanted; a score_threshold of 0 is none, as Dify sends it when it is off."""

    top_k: Annotated[int, Field(ge=1, le=MOST_TOP_K)] | None = None
    score_threshold: Annotated[FiniteFloat, Field(ge=0, le=1)] | None = None


class MetadataConditionItem(Body):
    """One condition; several names are one field that has the values of all of them."""

    name: Any
    comparison_operator: Any
    value: Any = None


class MetadataCondition(Body):
    """Which documents may be found."""

    logical_operator: str | None = None
    conditions: list[MetadataConditionItem] | None = None


class DifyRetrieveBody(_Tolerant):
    """POST /retrieval. knowledge_id is the id of a dataset."""

    knowledge_id: Annotated[str, Field(min_length=1)]
    query: QueryText
    retrieval_setting: RetrievalSetting
    metadata_condition: MetadataCondition | None = None


def to_query(body: DifyRetrieveBody, tenant_id: str, datasets: Sequence[Dataset]) -> Query:
    """Returns what a body asks for; all it can't say comes from the dataset's own settings.

    Raises:
        InvalidRequest: naming the field.
    """
    tree = _read_filter(body.metadata_condition)
    try:
        query = native.to_query(_as_native(body), tenant_id, datasets)
    except InvalidRequest as refusal:
        # What the body says is checked by now: the dataset does not suit this contract.
        details = "; ".join(problem.detail for problem in refusal.problems)
        raise InvalidRequest.at("/knowledge_id", details) from refusal
    return replace(query, filter=tree, condition=_as_sent(body.metadata_condition))


def to_answer(result: Result) -> bytes:
    """Returns the JSON answer; last records are left out where it would be too large."""
    for each in result.degraded:
        logger.warning("a channel is missing", channel=each.channel, reason=each.reason)
    shown = (
        {
            "content": record.text.content,
            "score": record.score,
            "title": record.text.title,
            "metadata": dict(record.text.metadata),
        }
        for record in result.records
    )
    return write_json({"records": keep_fitting(shown, {"records": []})})


def translate(error: Exception, problem: JsonObject) -> tuple[int, JsonObject]:
    """Returns an error's status and body; they are logged too, for some Difys show neither."""
    status, code, detail = problem["status"], problem["status"], problem["detail"]
    match error:
        case KeyUnknown() | Forbidden():
            status, code = 403, KEY_REFUSED
        case Unauthorized():
            status, code = 403, HEADER_MALFORMED
        case NotFound():
            code = BASE_UNKNOWN
            detail += ": knowledge_id is a dataset's id, as GET /v1/datasets shows it, not its name"
        case HTTPException(status_code=405):
            detail = "Dify's External Knowledge API is POST /retrieval alone"
    logger.warning("an answer to Dify is an error", status=status, error_code=code, detail=detail)
    return status, {"error_code": code, "error_msg": detail}


_ERROR = {
    "type": "object",
    "description": "Dify's own form of errors.",
    "required": ["error_code", "error_msg"],
    "properties": {"error_code": {"type": "integer"}, "error_msg": {"type": "string"}},
}

DIALECT = Dialect(lambda path: path.rstrip("/").endswith("/retrieval"), translate, _ERROR)


def _as_native(body: DifyRetrieveBody) -> native.RetrieveBody:
    setting = body.retrieval_setting
    sent: dict[str, Any] = {"query": body.query, "dataset_ids": [body.knowledge_id]}
    if setting.top_k is not None:
        sent["top_k"] = setting.top_k
    if "score_threshold" in setting.model_fields_set:
        sent["score_threshold"] = setting.score_threshold or None
    return native.RetrieveBody.model_validate(sent)


def _read_filter(asked: MetadataCondition | None) -> Tree | None:
    if asked is None:
        return None
    word = Joiner.AND if asked.logical_operator is None else asked.logical_operator
    if word.lower() not in set(Joiner):
        raise InvalidRequest.at(f"{_FILTER}/logical_operator", "must be and or or")
    members = [_spread(condition) for condition in asked.conditions or ()]
    try:
        return parse_filter(word, members, pointer=_FILTER)
    except InvalidRequest as refusal:
        found = (Problem(_SPREAD.sub(r"\1", p.pointer), p.detail) for p in refusal.problems)
        raise InvalidRequest(*dict.fromkeys(found)) from refusal


def _spread(condition: MetadataConditionItem) -> Mapping[str, Any]:
    """Returns a condition on several names as a group, so that a negative stays the complement."""
    operator = condition.comparison_operator
    if isinstance(operator, str):
        operator = _OLD_SPELLINGS.get(operator, operator)
    asked = {"comparison_operator": operator, "value": condition.value}
    names = condition.name
    if not isinstance(names, list) or not names:
        return {"name": names, **asked}
    is_negative = isinstance(operator, str) and SPELLINGS.get(operator) in _NEGATIVE
    joiner = Joiner.AND if is_negative else Joiner.OR
    return {"logical_operator": joiner, "conditions": [{"name": n, **asked} for n in names]}


def _as_sent(asked: MetadataCondition | None) -> JsonObject | None:
    if asked is None or not asked.conditions:
        return None
    conditions = [condition.model_dump(exclude_unset=True) for condition in asked.conditions]
    word = (asked.logical_operator or Joiner.AND).lower()
    return {"logical_operator": word, "conditions": conditions}
