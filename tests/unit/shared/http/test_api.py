"""The OpenAPI document tells every answer that a route can give, and which routes need the key."""

from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends
from fastapi.testclient import TestClient
from pydantic import BaseModel

from shared.http.app import make_app
from shared.http.keys import Caller, guard

KEY = "k" * 32
Json = dict[str, Any]


class Thing(BaseModel):
    size: int


@pytest.fixture
def client() -> TestClient:
    router = APIRouter(prefix="/v1", tags=["things"])
    open_router = APIRouter(tags=["retrieval"])
    who = Annotated[Caller, Depends(guard(KEY))]

    @router.post("/things/{id}", status_code=202)
    def put(id: str, body: Thing, caller: who, wait: bool = False) -> Json:
        return {"id": id, "size": body.size, "wait": wait, "caller": caller.name}

    form: Json = {"requestBody": {"content": {"multipart/form-data": {}}}}

    @router.post("/files", openapi_extra=form)
    def put_file(caller: who) -> Json:
        return {"caller": caller.name}

    @router.get("/things")
    def list_all(caller: who, limit: int = 5) -> Json:
        return {"limit": limit, "caller": caller.name}

    @open_router.get("/health")
    def get_health(deep: bool = False) -> Json:
        return {"deep": deep}

    return TestClient(make_app(router, open_router, most_bytes=1_000_000))


@pytest.fixture
def document(client: TestClient) -> Json:
    return dict(client.get("/openapi.json").json())


def test_every_answer_is_told_and_no_422(document: Json) -> None:
    answers = {
        (method, path): set(operation["responses"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert answers == {
        ("post", "/v1/things/{id}"): {"201", "202", "400", "401", "404", "409", "413", "503"},
        ("post", "/v1/files"): {"200", "400", "401", "404", "409", "413", "415", "503"},
        ("get", "/v1/things"): {"200", "400", "401", "503"},
        ("get", "/health"): {"200", "400"},
    }


def test_errors_are_problems(document: Json) -> None:
    answers = document["paths"]["/v1/things/{id}"]["post"]["responses"]
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for status in ("400", "401", "404", "409", "413", "503"):
        assert answers[status]["content"] == {"application/problem+json": schema}
    assert answers["201"]["content"] == answers["202"]["content"]
    schemas = document["components"]["schemas"]
    assert set(schemas) == {"Thing", "Problem"}


def test_all_routes_but_health_ask_for_the_key(document: Json) -> None:
    [(name, scheme)] = document["components"]["securitySchemes"].items()
    assert scheme == {"type": "http", "scheme": "bearer"}
    assert document["paths"]["/v1/things/{id}"]["post"]["security"] == [{name: []}]
    assert document["paths"]["/v1/things"]["get"]["security"] == [{name: []}]
    assert "security" not in document["paths"]["/health"]["get"]


DEEP = b"[" * 100_000
LONG = b"9" * 5_000


@pytest.mark.parametrize("body", [b"{", b"nonsense", DEEP, LONG, b"{}"])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_who_has_no_key_is_told_so_whatever_the_body_is(
    client: TestClient, body: bytes, headers: dict[str, str]
) -> None:
    answer = client.post("/v1/things/a", content=body, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("body", "says"),
    [(DEEP, "is nested too deeply"), (LONG, "holds a number of too many digits")],
)
def test_a_body_that_no_parser_takes_is_refused_at_its_root(
    client: TestClient, body: bytes, says: str
) -> None:
    answer = client.post("/v1/things/a", content=body, headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"pointer": "", "detail": says}]
