"""What the API says of itself: beside what routes return, the answers that all of them may give."""

from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI

from shared.http.dialects import Dialect
from shared.http.forms import MEDIA_TYPE
from shared.http.problems import TITLES

_PROBLEM = {
    "type": "object",
    "description": "RFC 9457. errors points at each wrong place of the body.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}
_FRAMEWORK = {"HTTPValidationError", "ValidationError"}
"""Schemas of an answer that no route gives: what is wrong with a request is a problem, 400."""

_SETTLED = "With wait=true, once queries find it, or find it no more"


class Api(FastAPI):
    """An app whose OpenAPI document names the answers that it gives."""

    def openapi(self) -> dict[str, Any]:
        """Returns the document, made when it is first asked for."""
        if self.openapi_schema is None:
            _complete(super().openapi(), self.state.dialects)
        return super().openapi()


def _complete(document: dict[str, Any], dialects: Sequence[Dialect]) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in _FRAMEWORK:
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    for path, operations in document["paths"].items():
        dialect = next((each for each in dialects if each.owns(path)), None)
        for method, operation in operations.items():
            answers = operation["responses"]
            answers.pop("422", None)
            if dialect is not None:
                answers["default"] = _show(dialect)
                continue
            if any(each["name"] == "wait" for each in operation.get("parameters", ())):
                answers["201"] = next(iter(answers.values())) | {"description": _SETTLED}
            for status in _list_problems(path, method, operation):
                answers.setdefault(str(status), _describe(status))


def _list_problems(path: str, method: str, operation: dict[str, Any]) -> Iterator[int]:
    yield 400
    if "security" in operation:  # without a key there is only health, whose 503 is no problem
        yield from (401, 503)
    if "{" in path or "requestBody" in operation:
        yield 404
    if method != "get" and "retrieval" not in operation["tags"]:
        yield 409
    if "requestBody" in operation:
        yield 413
    if MEDIA_TYPE in operation.get("requestBody", {}).get("content", {}):
        yield 415


def _show(dialect: Dialect) -> dict[str, Any]:
    return {"description": "Any error", "content": {"application/json": {"schema": dialect.schema}}}


def _describe(status: int) -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": TITLES[status],
        "content": {"application/problem+json": {"schema": reference}},
    }
