from typing import Any

import pytest

from shared.http.gateway import strip_prefix


def event_v2(route: str, path: str, stage: str = "$default", **parameters: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "pathParameters": parameters or None,
        "requestContext": {"stage": stage, "http": {"method": "POST", "path": path}},
    }


def event_v1(resource: str, path: str, stage: str = "prod", **parameters: str) -> dict[str, Any]:
    return {
        "version": "1.0",
        "resource": resource,
        "path": path,
        "pathParameters": parameters or None,
        "requestContext": {"stage": stage, "path": f"/{stage}{path}"},
    }


@pytest.mark.parametrize("prefix", ["", "/prod", "/kb", "/a/b", "/v1"])
@pytest.mark.parametrize(
    ("route", "path"),
    [
        ("/v1/retrieve", "/v1/retrieve"),
        ("/retrieval", "/retrieval"),
        ("/v1/datasets", "/v1/datasets"),
        ("/v1/datasets/{proxy+}", "/v1/datasets/d1/documents/batch"),
        ("/v1/documents/{proxy+}", "/v1/documents/a%2Fb/chunks"),
        ("/v1/datasets/{id}/documents", "/v1/datasets/prod/documents"),
        ("/", "/"),
    ],
)
def test_o15_what_stands_before_the_route_is_taken_off(prefix: str, route: str, path: str) -> None:
    there = prefix + path
    stripped = strip_prefix(event_v2(f"ANY {route}", there, stage="prod"))
    assert stripped["rawPath"] == stripped["requestContext"]["http"]["path"] == path
    assert stripped["requestContext"]["http"]["method"] == "POST"
    assert strip_prefix(event_v1(route, there))["path"] == path


def test_o15_a_route_that_is_every_path_goes_by_what_the_gateway_found() -> None:
    asked = event_v2("ANY /{proxy+}", "/kb/v1/retrieve", proxy="v1/retrieve")
    assert strip_prefix(asked)["rawPath"] == "/v1/retrieve"
    asked = event_v1("/{proxy+}", "/kb/v1/retrieve", proxy="v1/retrieve")
    assert strip_prefix(asked)["path"] == "/v1/retrieve"
    asked = event_v2("$default", "/prod/v1/retrieve", "prod")
    asked["routeKey"] = "$default"
    assert strip_prefix(asked)["rawPath"] == "/v1/retrieve"
    assert strip_prefix(event_v2("$default", "/v1/retrieve"))["rawPath"] == "/v1/retrieve"
    assert strip_prefix(event_v2("$default", "/production/x", "prod"))["rawPath"] == "/production/x"


def test_a_path_that_is_not_its_routes_is_left_alone() -> None:
    assert strip_prefix(event_v2("ANY /v1/retrieve", "/odd"))["rawPath"] == "/odd"
    asked = event_v1("/v1/retrieve", "/odd")
    assert strip_prefix(asked) == asked
