"""Every error that can reach HTTP has its status; what is told holds nothing of ours."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

import shared
from shared import errors
from shared.errors import InvalidRequest, Problem, Unavailable, WinnowError
from shared.http.bodies import WeightsBody
from shared.http.problems import STATUS, describe, problems_of, respond
from shared.metadata.tokens import WhereRefused

STAYS_INSIDE = {
    errors.ContentMissing: "ingest alone reads content, and puts this on the document",
    errors.DocumentRefused: "ingest puts it on the document",
    errors.ChangeMalformed: "only messages are changes",
    WhereRefused: "only the command line reads filters as text",
    errors.ConfigurationError: "a fault of ours: 500 without details",
}


def list_errors(base: type[WinnowError]) -> Iterator[type[WinnowError]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("shared."):
            yield each
        yield from list_errors(each)


def import_everything() -> None:
    for found in pkgutil.walk_packages(shared.__path__, "shared."):
        importlib.import_module(found.name)


def test_every_error_has_a_status_or_a_reason_to_have_none() -> None:
    import_everything()  # adapters have errors of their own
    for each in list_errors(WinnowError):
        known = any(base in STATUS for base in each.__mro__)
        inside = any(base in STAYS_INSIDE for base in each.__mro__)
        assert known != inside, each


def test_every_error_says_something_by_itself() -> None:
    for each in list_errors(WinnowError):
        assert each.__doc__, each


def test_the_status_of_an_adapters_error_is_that_of_its_kind() -> None:
    class EngineAway(errors.IndexUnavailable):
        """The engine of this test is away."""

    assert describe(EngineAway())["status"] == 503


def test_a_problem_document() -> None:
    error = InvalidRequest(Problem("/a/0", "is wrong"), Problem("", "is odd"))
    assert describe(error) == {
        "type": "urn:winnow:problem:your-request-is-wrong",
        "title": "Your request is wrong",
        "status": 400,
        "detail": "/a/0: is wrong; body: is odd",
        "errors": [
            {"pointer": "/a/0", "detail": "is wrong"},
            {"pointer": "", "detail": "is odd"},
        ],
    }


@pytest.mark.parametrize(
    "error", [RuntimeError("SELECT secret"), errors.ConfigurationError("WINNOW_KEY=secret")]
)
def test_what_is_our_fault_tells_nothing_of_itself(error: Exception) -> None:
    answer = respond(error)
    assert answer.status_code == 500
    assert b"secret" not in answer.body


def test_headers_that_go_with_a_status() -> None:
    assert respond(Unavailable()).headers["retry-after"] == "1"
    assert respond(errors.Unauthorized()).headers["www-authenticate"] == "Bearer"
    assert respond(errors.NotFound()).headers["content-type"] == "application/problem+json"
    assert json.loads(bytes(respond(errors.NotFound()).body))["status"] == 404


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (WeightsBody, {"vector": 0, "keyword": 0}, "the weights are both 0"),
        (Annotated[str, Field(pattern=r"\S")], " \n\u3000", "is blank"),
        (Annotated[str, Field(pattern="^a$")], "b", "String should match pattern '^a$'"),
        (dict[str, Any], [], "must be an object"),
    ],
)
def test_findings_are_told_in_plain_words(kind: Any, value: Any, says: str) -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(kind).validate_python(value)
    assert [each.detail for each in problems_of(raised.value.errors()).problems] == [says]
