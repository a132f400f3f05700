"""The one table from error class to status, and errors as RFC 9457 problems."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from shared import errors
from shared.errors import InvalidRequest, Problem, WinnowError, join_pointer
from shared.http.dialects import find_dialect
from shared.http.keys import Guard
from shared.model import JsonObject
from shared.telemetry import log_failure

STATUS: Mapping[type[WinnowError], int] = {
    errors.InvalidRequest: 400,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.StaleVersion: 409,
    errors.TooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.Unavailable: 503,
    errors.IndexUnavailable: 503,
    errors.DatabaseUnavailable: 503,
    errors.EmbedderFailed: 503,
    errors.ChatModelFailed: 503,
    errors.RerankerFailed: 503,
    errors.ExternalFailed: 503,
}
"""What callers are told. Errors that are not here are faults of ours: 500, without details."""

TITLES = {
    400: "Your request is wrong",
    401: "No valid key",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "File type not supported",
    500: "Internal error",
    503: "Not available now",
}
_HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    503: {"Retry-After": "1"},
}
_NOTHING_THERE = (
    "There is nothing at this path. Queries go to POST /v1/retrieve; those of Dify's External "
    "Knowledge API to POST /retrieval, for which its endpoint is this address without a path."
)


def describe(error: Exception) -> dict[str, Any]:
    """Returns the problem document of an error."""
    # An adapter's own errors are told as what they are of ours.
    status = next((STATUS[each] for each in type(error).__mro__ if each in STATUS), 500)
    problems = error.problems if isinstance(error, WinnowError) else ()
    detail = str(error) if status != 500 else "An unexpected error; the logs tell more."  # noqa: PLR2004
    return _document(status, detail, problems)


def install(app: FastAPI) -> None:
    """Makes an app answer every error as a problem."""
    app.add_exception_handler(RequestValidationError, _refuse)
    app.add_exception_handler(HTTPException, _pass_on)
    app.add_exception_handler(WinnowError, _answer)
    # What Exception's own handler answers is raised again, and the server logs it in its words.
    app.add_exception_handler(SQLAlchemyError, _answer)
    app.add_exception_handler(Exception, _answer)


def respond(error: Exception, scope: Mapping[str, Any] | None = None) -> JSONResponse:
    """Returns the answer that an error becomes, in the dialect of the request's path."""
    return _tell(error, describe(error), scope or {})


def problems_of(found: Sequence[Any], base: str = "") -> InvalidRequest:
    """Returns pydantic's findings as one error of ours."""
    return InvalidRequest(*(Problem(join_pointer(base, *e["loc"]), _words(e)) for e in found))


def _words(found: Mapping[str, Any]) -> str:
    match found["type"]:
        case "model_type" | "model_attributes_type" | "dict_type":
            return "must be an object"
        case "extra_forbidden":
            return "unknown field"
        case "string_pattern_mismatch" if found["ctx"]["pattern"] == r"\S":
            return "is blank"
        case "value_error":  # one of ours, which the message puts other words in front of
            return str(found["ctx"]["error"])
        case _:
            return str(found["msg"])


async def _answer(request: Request, error: Exception) -> JSONResponse:
    answer = respond(error, request.scope)
    if answer.status_code >= 500:  # noqa: PLR2004
        log_failure("request failed", error)
    return answer


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    await _ask_for_key(request)
    return respond(InvalidRequest(*(_locate(each) for each in error.errors())), request.scope)


def _locate(found: Mapping[str, Any]) -> Problem:
    if found["type"] == "json_invalid":
        return Problem("", f"is not JSON: {found['ctx']['error']} at character {found['loc'][-1]}")
    if found["loc"] == ("body",) and found["type"] in {"model_attributes_type", "missing"}:
        return Problem("", "must be a JSON object, sent as Content-Type: application/json")
    # The first step says body, query or path; a pointer goes into the body.
    place, *steps = found["loc"]
    return Problem(
        join_pointer("", *(steps if place == "body" else [place, *steps])), _words(found)
    )


async def _ask_for_key(request: Request) -> None:
    # FastAPI reads a body before it asks who sent it.
    for needed in request.scope["route"].dependant.dependencies:
        if isinstance(needed.call, Guard):
            await needed.call(request)


async def _pass_on(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    if isinstance(error.__cause__, RecursionError | ValueError):  # the body's own JSON parser's
        await _ask_for_key(request)
        is_deep = isinstance(error.__cause__, RecursionError)
        detail = "is nested too deeply" if is_deep else "holds a number of too many digits"
        return respond(InvalidRequest.at("", detail), request.scope)
    detail = _NOTHING_THERE if error.status_code == 404 else str(error.detail)  # noqa: PLR2004
    document = _document(error.status_code, detail, ())
    return _tell(error, document, request.scope, error.headers)


def _document(status: int, detail: str, problems: Sequence[Problem]) -> dict[str, Any]:
    title = TITLES.get(status, "Error")
    document: dict[str, Any] = {
        "type": f"urn:winnow:problem:{title.lower().replace(' ', '-')}",
        "title": title,
        "status": status,
        "detail": detail,
    }
    if problems:
        document["errors"] = [{"pointer": p.pointer, "detail": p.detail} for p in problems]
    return document


def _tell(
    error: Exception,
    document: JsonObject,
    scope: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    dialect = find_dialect(scope)
    if dialect is None:
        status, body, media_type = document["status"], document, "application/problem+json"
    else:
        status, body = dialect.translate(error, document)
        media_type = "application/json"
    given = {**_HEADERS.get(status, {}), **(headers or {})}
    return JSONResponse(body, status_code=status, headers=given, media_type=media_type)
