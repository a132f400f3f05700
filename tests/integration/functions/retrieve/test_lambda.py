"""Events as Lambda gets them, and what keeps tenants apart."""

import asyncio
import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from functions.retrieve.direct import answer_directly, is_direct
from shared.http.gateway import answer_events
from shared.postgres.engine import transaction
from shared.settings import DEFAULT_TENANT
from tests.integration.app import KEY, App, Json, near, where

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]


@pytest.fixture
def event_loop() -> Iterator[None]:
    """Gives Mangum the loop that it would make, and never close, for itself."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    made = app.dataset()
    app.put(made, "zh", near("退款 需要七个工作日", 0.6))
    return made


def event_v2(body: bytes, *, encoded: bool) -> Json:
    sent = base64.b64encode(body).decode() if encoded else body.decode()
    http = {
        "method": "POST",
        "path": "/v1/retrieve",
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "tests",
    }
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/v1/retrieve",
        "rawQueryString": "",
        "headers": {"authorization": f"Bearer {KEY}", "content-type": "application/json"},
        "requestContext": {"http": http, "stage": "$default"},
        "body": sent,
        "isBase64Encoded": encoded,
    }


def event_v1(body: bytes, *, encoded: bool) -> Json:
    sent = base64.b64encode(body).decode() if encoded else body.decode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    return {
        "version": "1.0",
        "resource": "/v1/retrieve",
        "path": "/v1/retrieve",
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "requestContext": {"httpMethod": "POST", "path": "/v1/retrieve", "stage": "$default"},
        "body": sent,
        "isBase64Encoded": encoded,
    }


@pytest.mark.usefixtures("event_loop")
@pytest.mark.parametrize("make", [event_v1, event_v2])
@pytest.mark.parametrize("encoded", [False, True])
def test_k01_a_body_is_read_plain_or_in_base64(
    app: App, dataset: str, make: Any, encoded: bool
) -> None:
    body: Json = {"query": "退款", "dataset_ids": [dataset], "query_vector": [1, 0]}
    event = make(json.dumps(body, ensure_ascii=False).encode(), encoded=encoded)
    assert not is_direct(event)
    answer = answer_events(app.api)(event, None)
    assert answer["statusCode"] == 200
    assert [record["title"] for record in read(answer)["records"]] == ["zh"]


def read(answer: Json) -> Any:
    assert not answer["isBase64Encoded"]  # as a REST API would hand it on
    return json.loads(answer["body"])


@pytest.mark.usefixtures("event_loop")
@pytest.mark.parametrize("make", [event_v1, event_v2])
@pytest.mark.parametrize("prefix", ["", "/prod", "/kb"])
def test_o15_routes_answer_below_a_stage_and_a_base_path(
    app: App, dataset: str, make: Any, prefix: str
) -> None:
    body: Json = {"query": "退款", "dataset_ids": [dataset], "query_vector": [1, 0]}
    event = make(json.dumps(body).encode(), encoded=False)
    http = answer_events(app.api)
    found = http(below(event, prefix, "/v1/retrieve", "/v1/retrieve"), None)
    assert [record["title"] for record in read(found)["records"]] == ["zh"]
    asked = http(below(event, prefix, "/retrieval", "/retrieval"), None)
    assert "error_code" in read(asked)  # Dify's form, as this body is none of Dify's
    path = f"/v1/datasets/{dataset}/documents"
    refused = http(below(event, prefix, path, "/v1/datasets/{proxy+}"), None)
    assert read(refused)["errors"][0]["pointer"] == "/name"
    unknown = http(below(event, prefix, "/v1/unknown", "/{proxy+}"), None)
    assert unknown["statusCode"] == read(unknown)["status"] == 404


def below(event: Json, prefix: str, path: str, route: str) -> Json:
    """Returns an event of a path below a prefix."""
    proxy = {"pathParameters": {"proxy": path[1:]}} if "{" in route else {}
    if event["version"] == "1.0":
        return event | proxy | {"path": prefix + path, "resource": route}
    context = event["requestContext"] | {"http": event["requestContext"]["http"]}
    context["http"] = context["http"] | {"path": prefix + path}
    named = {"rawPath": prefix + path, "routeKey": f"POST {route}", "requestContext": context}
    return event | proxy | named


def test_k03_scores_are_json_numbers_and_never_nan(app: App, dataset: str) -> None:
    raw = app.ask(dataset, "退款", query_vector=[0.1 + 0.2, 1e-7], explain=True).text

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is no JSON")

    found = json.loads(raw, parse_constant=refuse)
    [record] = found["records"]
    assert isinstance(record["score"], float)


def test_a_direct_event_is_answered_with_the_body_itself(app: App, dataset: str) -> None:
    body = {"query": "退款", "dataset_ids": [dataset], "query_vector": [1, 0]}
    event = {"tenant_id": DEFAULT_TENANT, "retrieve": body}
    assert is_direct(event)
    found = answer_directly(event, app.retrieve_parts)
    assert [record["title"] for record in found["records"]] == ["zh"]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("event", "status", "pointer"),
    [
        ({}, 400, "/retrieve"),
        ({"retrieve": {"query": "x"}}, 400, "/retrieve/dataset_ids"),
        ({"retrieve": {"query": "x", "dataset_ids": ["x"]}}, 400, "/tenant_id"),
        ({"tenant_id": 5, "retrieve": {"query": "x", "dataset_ids": ["x"]}}, 400, "/tenant_id"),
        (
            {"tenant_id": "x", "retrieve": {"query": "a\0", "dataset_ids": []}},
            400,
            "/retrieve/query",
        ),
        ({"tenant_id": "x\ud800", "retrieve": {}}, 400, "/tenant_id"),
        ({"tenant_id": "x", "retrieve": {"query": "x", "dataset_ids": ["x"]}}, 404, "/dataset_ids"),
    ],
)
def test_a_wrong_direct_event_is_a_problem(
    app: App, event: Json, status: int, pointer: str | None
) -> None:
    found = answer_directly(event, app.retrieve_parts)
    assert found["status"] == status
    assert found.get("errors", [{"pointer": None}])[0]["pointer"] == pointer


@pytest.fixture(scope="module")
def stranger(app: App) -> Iterator[str]:
    """Another tenant."""
    tenant = str(uuid.uuid4())
    with transaction(app.engine) as connection:
        connection.execute(
            text("INSERT INTO tenants (id, name) VALUES (:id, 'stranger')"), {"id": tenant}
        )
    yield tenant


def give_away(app: App, dataset: str, tenant: str) -> None:
    """Makes a dataset and its documents another tenant's, in PostgreSQL alone."""
    with transaction(app.engine) as connection:
        for change in (
            "UPDATE datasets SET tenant_id = :tenant WHERE id = :id",
            "UPDATE documents SET tenant_id = :tenant WHERE dataset_id = :id",
        ):
            connection.execute(text(change), {"tenant": tenant, "id": dataset})


def ask(app: App, tenant: str, dataset: str, **more: Any) -> Json:
    body = {"query": "退款 alpha", "dataset_ids": [dataset], "query_vector": [1, 0]} | more
    return answer_directly({"tenant_id": tenant, "retrieve": body}, app.retrieve_parts)


def test_k09_another_tenants_dataset_looks_like_one_that_does_not_exist(
    app: App, dataset: str, stranger: str
) -> None:
    missing = str(uuid.uuid4())
    for method in METHODS:
        theirs = ask(app, stranger, dataset, search_method=method)
        nobodys = ask(app, stranger, missing, search_method=method)
        assert theirs["status"] == nobodys["status"] == 404
        assert theirs["detail"].replace(dataset, "X") == nobodys["detail"].replace(missing, "X")


def test_k09_nothing_crosses_between_tenants(app: App, stranger: str) -> None:
    # The very same dataset ids can't be had, but documents of one external id and text can.
    mine = app.dataset()
    document = app.put(mine, "mine", near("退款 alpha", 0.9), external_id="same")
    theirs = app.dataset()
    app.put(theirs, "theirs", near("退款 alpha", 0.9), external_id="same")
    give_away(app, theirs, stranger)
    # The index still says that the chunk is the first tenant's: it is found by nobody.
    for method in METHODS:
        for filtering in (None, where(("document_name", "not empty"))):
            more = {"search_method": method, "metadata_filtering": filtering}
            assert ask(app, stranger, theirs, **more)["records"] == []
            assert ask(app, DEFAULT_TENANT, theirs, **more)["status"] == 404
            both = ask(app, DEFAULT_TENANT, mine, dataset_ids=[mine, theirs], **more)
            assert both["status"] == 404
            [record] = ask(app, DEFAULT_TENANT, mine, **more)["records"]
            assert record["document_id"] == document["id"]


def test_k09_another_tenants_documents_can_not_be_seen_or_changed(app: App, stranger: str) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("alpha", 0.5))
    give_away(app, dataset, stranger)
    one, all_ = f"/v1/documents/{document['id']}", f"/v1/datasets/{dataset}"
    answers = [
        app.client.get(one),
        app.client.patch(one, json={"enabled": False}),
        app.client.delete(one),
        app.client.post(f"{one}/retry"),
        app.client.get(f"{one}/chunks"),
        app.client.get(all_),
        app.client.patch(all_, json={"name": "taken"}),
        app.client.get(f"{all_}/documents"),
        app.client.post(f"{all_}/documents", json={"name": "b", "chunks": [near("beta", 0.5)]}),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    listed = app.client.get("/v1/datasets").json()["datasets"]
    assert dataset not in [each["id"] for each in listed]
    state = "SELECT enabled AND deleted_at IS NULL FROM documents WHERE id = :id"
    assert app.scalar(state, id=document["id"])


def test_a_tenants_id_may_be_written_in_another_form(app: App, dataset: str) -> None:
    for form in (DEFAULT_TENANT.replace("-", ""), f"{{{DEFAULT_TENANT}}}"):
        assert [each["title"] for each in ask(app, form, dataset)["records"]] == ["zh"]
