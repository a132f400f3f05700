"""Every kind of bad input: the right status, a problem that names the field, nothing changed."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from shared.errors import MOST_PROBLEMS, DatabaseUnavailable
from shared.postgres.engine import connect
from tests.integration.app import KEY, App, Json, build, near

NOWHERE = ["00000000-0000-4000-8000-000000000000"]


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    made = app.dataset()
    app.put(made, "a", near("alpha", 0.5))
    return made


@pytest.fixture
def state(app: App) -> Callable[[], tuple[Any, ...]]:
    """What must not change."""

    def read() -> tuple[Any, ...]:
        return tuple(
            app.scalar(f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM {table} t")  # noqa: S608
            for table in ("datasets", "documents", "chunks", "chunk_memberships", "outbox")
        )

    return read


@pytest.fixture(autouse=True)
def nothing_changes(dataset: str, state: Callable[[], tuple[Any, ...]]) -> Iterator[None]:
    assert dataset
    before = state()
    yield
    assert state() == before


def assert_problem(answer: Response, status: int, pointer: str | None = None) -> Json:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = dict(answer.json())
    assert problem["status"] == status
    assert problem["type"].startswith("urn:winnow:problem:")
    assert problem["title"]
    assert problem["detail"]
    if pointer is not None:
        assert pointer in [each["pointer"] for each in problem["errors"]], problem
    for secret in (KEY, "SELECT", "INSERT", "Traceback", "sqlalchemy", "pg8000", ".py"):
        assert secret not in answer.text
    return problem


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (b"", ""),
        (b"{", ""),
        (b"nonsense", ""),
        (b"[]", ""),
        (b"null", ""),
        (b'"text"', ""),
        (b"{}", "/query"),
        (b"{}", "/dataset_ids"),
        (b"[" * 100_000, ""),
        (b"1" * 5_000, ""),
        (b'{"query": "x", "dataset_ids": ["x"], "top_k": ' + b"9" * 5_000 + b"}", ""),
        (b"\xff", ""),
    ],
)
def test_a_body_that_is_no_query(app: App, content: bytes, pointer: str | None) -> None:
    assert_problem(app.client.post("/v1/retrieve", content=content), 400, pointer)


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"query": ""}, "/query"),
        ({"query": " \n\u3000"}, "/query"),
        ({"query": "x" * 20_001}, "/query"),
        ({"query": 5}, "/query"),
        ({"query": None}, "/query"),
        ({"query": ["x"]}, "/query"),
        ({"dataset_ids": []}, "/dataset_ids"),
        ({"dataset_ids": "x"}, "/dataset_ids"),
        ({"dataset_ids": [5]}, "/dataset_ids/0"),
        ({"dataset_ids": ["x"] * 101}, "/dataset_ids"),
        ({"top_k": 0}, "/top_k"),
        ({"top_k": -1}, "/top_k"),
        ({"top_k": 101}, "/top_k"),
        ({"top_k": "5"}, "/top_k"),
        ({"top_k": 4.5}, "/top_k"),
        ({"top_k": True}, "/top_k"),
        ({"score_threshold": 1.5}, "/score_threshold"),
        ({"score_threshold": "0.5"}, "/score_threshold"),
        ({"search_method": "magic"}, "/search_method"),
        ({"explain": "yes"}, "/explain"),
        ({"deadline_ms": 0}, "/deadline_ms"),
        ({"on_channel_failure": "panic"}, "/on_channel_failure"),
        ({"colour": "red"}, "/colour"),
        ({"a/b~c": 1}, "/a~1b~0c"),
        ({"fusion": {"method": "magic"}}, "/fusion/method"),
        ({"fusion": {"keyword_scoring": "magic"}}, "/fusion/keyword_scoring"),
        ({"fusion": {"keyword_scoring": None}}, "/fusion/keyword_scoring"),
        ({"fusion": {"weights": [0.7, 0.3]}}, "/fusion/weights"),
        ({"query_vector": [1, 0, 0]}, "/query_vector"),
        ({"query_vector": [1]}, "/query_vector"),
        ({"query_vector": [0, 0]}, "/query_vector"),
        ({"query_vector": [1, "0"]}, "/query_vector/1"),
        ({"fusion": {"rank_constant": 0}}, "/fusion/rank_constant"),
        ({"fusion": {"colour": 1}}, "/fusion/colour"),
        ({"metadata_filtering": {"mode": "magic"}}, "/metadata_filtering/mode"),
        ({"metadata_filtering": {"colour": 1}}, "/metadata_filtering/colour"),
        ({"metadata_filtering": []}, "/metadata_filtering"),
    ],
)
def test_a_field_that_means_nothing(app: App, dataset: str, more: Json, pointer: str) -> None:
    body: Json = {"query": "x", "dataset_ids": [dataset], "query_vector": [1, 0]} | more
    assert_problem(app.client.post("/v1/retrieve", json=body), 400, pointer)


def test_what_is_wrong_a_million_times_is_told_a_few(app: App, dataset: str) -> None:
    vector = ["0"] * 100_000
    asked: Json = {"query": "x", "dataset_ids": [dataset]}
    sent: Json = {"name": "a", "chunks": [{"text": "a", "vector": vector}]}
    answer = app.client.post("/v1/retrieve", json=asked | {"query_vector": vector})
    problem = assert_problem(answer, 400, "/query_vector/0")
    assert len(problem["errors"]) == 1
    answer = app.client.post(f"/v1/datasets/{dataset}/documents", json=sent)
    assert_problem(answer, 400, "/chunks/0/vector/0")
    answer = app.client.post("/v1/retrieve", json=asked | {f"f{n}": n for n in range(10_000)})
    assert answer.status_code == 400
    assert len(answer.json()["errors"]) == MOST_PROBLEMS
    assert len(answer.content) < 50_000


@pytest.mark.parametrize("method", ["weighted_score", "rrf", "none"])
@pytest.mark.parametrize("search_method", ["semantic_search", "full_text_search", "keyword_search"])
def test_a_fusion_method_that_does_not_go_with_the_search_method(
    app: App, dataset: str, search_method: str, method: str
) -> None:
    asked: Json = {"search_method": search_method, "fusion": {"method": method}}
    answer = app.ask(dataset, "x", query_vector=[1, 0], **asked)
    assert_problem(answer, 400, "/fusion/method")
    assert search_method in answer.json()["detail"]


CONDITION = {"name": "n", "comparison_operator": "is", "value": 1}


@pytest.mark.parametrize(
    ("filtering", "below"),
    [
        ({"conditions": [CONDITION | {"comparison_operator": "like"}]},
         "/conditions/0/comparison_operator"),
        ({"conditions": [CONDITION, CONDITION | {"value": None}]}, "/conditions/1/value"),
        ({"conditions": [{"name": "n", "comparison_operator": "is"}]}, "/conditions/0/value"),
        ({"conditions": [CONDITION | {"comparison_operator": "contains", "value": ""}]},
         "/conditions/0/value"),
        ({"conditions": [CONDITION | {"comparison_operator": ">", "value": "x"}]},
         "/conditions/0/value"),
        ({"conditions": [CONDITION | {"comparison_operator": "before", "value": "soon"}]},
         "/conditions/0/value"),
        ({"conditions": [CONDITION | {"name": ""}]}, "/conditions/0/name"),
        ({"conditions": [CONDITION | {"colour": 1}]}, "/conditions/0/colour"),
        ({"conditions": [{"logical_operator": "or", "conditions": []}]},
         "/conditions/0/conditions"),
        ({"conditions": [5]}, "/conditions/0"),
        ({"conditions": [CONDITION], "logical_operator": "xor"}, "/logical_operator"),
        ({"conditions": [CONDITION] * 101}, "/conditions/100"),
    ],
)  # fmt: skip
def test_a_condition_that_means_nothing(
    app: App, dataset: str, filtering: Json, below: str
) -> None:
    body = {"metadata_filtering": {"mode": "manual"} | filtering}
    answer = app.ask(dataset, "x", query_vector=[1, 0], **body)
    assert_problem(answer, 400, f"/metadata_filtering{below}")


@pytest.mark.parametrize("wrong", ["\\u0000", "\\ud800", "a\\udfffb"])
@pytest.mark.parametrize(
    ("template", "pointer"),
    [
        ('{"query": "%s", "dataset_ids": ["x"]}', "/query"),
        ('{"query": "x", "dataset_ids": ["%s"]}', "/dataset_ids/0"),
        ('{"query": "x", "dataset_ids": ["x"], "%s": 1}', ""),
        (
            '{"query": "x", "dataset_ids": ["x"], "metadata_filtering": {"conditions":'
            ' [{"name": "%s"}]}}',
            "/metadata_filtering/conditions/0/name",
        ),
        (
            '{"query": "x", "dataset_ids": ["x"], "metadata_filtering": {"inputs": {"%s": 1}}}',
            "/metadata_filtering/inputs",
        ),
    ],
)
def test_g13_nul_and_lone_surrogates_in_a_query(
    app: App, wrong: str, template: str, pointer: str
) -> None:
    answer = app.client.post("/v1/retrieve", content=template.replace("%s", wrong))
    assert_problem(answer, 400, pointer)


@pytest.mark.parametrize("wrong", ["\\u0000", "\\ud800"])
@pytest.mark.parametrize(
    ("field", "pointer"),
    [
        ('"name": "%s"', "/name"),
        ('"text": "%s"', "/text"),
        ('"external_id": "%s"', "/external_id"),
        ('"source": "%s"', "/source"),
        ('"metadata": {"%s": 1}', "/metadata"),
        ('"metadata": {"a": ["%s"]}', "/metadata/a/0"),
        ('"chunks": [{"text": "%s", "vector": [1, 0]}]', "/chunks/0/text"),
    ],
)
def test_g13_nul_and_lone_surrogates_in_a_document(
    app: App, dataset: str, wrong: str, field: str, pointer: str
) -> None:
    body = "{" + field.replace("%s", wrong) + "}"
    path = f"/v1/datasets/{dataset}/documents"
    assert_problem(app.client.post(path, content=body), 400, pointer)


@pytest.mark.parametrize("wrong", ["%00", "%ED%A0%80", "%FF"])
def test_g13_nul_and_lone_surrogates_in_a_path_or_a_query_string(app: App, wrong: str) -> None:
    assert_problem(app.client.get(f"/v1/datasets/{wrong}"), 400, "path")
    assert_problem(app.client.get(f"/v1/documents/{wrong}/chunks"), 400, "path")
    path = f"/v1/datasets/{NOWHERE[0]}/documents"
    assert_problem(app.client.get(f"{path}?cursor={wrong}"), 400, "query")
    assert_problem(app.client.get(f"{path}?{wrong}=1"), 400, "query")


def test_an_unknown_dataset(app: App, dataset: str) -> None:
    problem = assert_problem(app.ask([dataset, *NOWHERE], "x", query_vector=[1, 0]), 404)
    assert NOWHERE[0] in problem["detail"]


def test_metadata_with_numbers_that_are_not_finite(app: App, dataset: str) -> None:
    path = f"/v1/datasets/{dataset}/documents"
    for number in ("NaN", "-Infinity", "1e999"):
        body = '{"name": "a", "chunks": [{"text": "x", "vector": [1, 0]}], "metadata": {"n": %s}}'
        answer = app.client.post(path, content=body.replace("%s", number))
        assert_problem(answer, 400, "/metadata/n")


def test_a_body_of_100_mb(app: App) -> None:
    part = b"x" * 1_000_000

    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield part

    assert_problem(app.client.post("/v1/retrieve", content=parts()), 413)
    assert app.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/retrieve", 405),
        ("DELETE", "/v1/datasets", 405),
        ("POST", "/v1/retrieve/", 404),  # never a redirect
    ],
)
def test_there_is_nothing_there(app: App, method: str, path: str, status: int) -> None:
    answer = app.client.request(method, path, follow_redirects=False)
    assert_problem(answer, status)
    assert (status == 405) == ("allow" in answer.headers)


PROTECTED = [
    ("GET", "/v1/datasets"),
    ("POST", "/v1/datasets"),
    ("GET", "/v1/datasets/x"),
    ("PATCH", "/v1/datasets/x"),
    ("DELETE", "/v1/datasets/x"),
    ("GET", "/v1/datasets/x/documents"),
    ("POST", "/v1/datasets/x/documents"),
    ("POST", "/v1/datasets/x/documents/batch"),
    ("POST", "/v1/datasets/x/documents/uploads"),
    ("GET", "/v1/datasets/x/metadata-fields"),
    ("POST", "/v1/datasets/x/metadata-fields"),
    ("PATCH", "/v1/datasets/x/metadata-fields/x"),
    ("DELETE", "/v1/datasets/x/metadata-fields/x"),
    ("GET", "/v1/documents/x"),
    ("PATCH", "/v1/documents/x"),
    ("DELETE", "/v1/documents/x"),
    ("POST", "/v1/documents/x/retry"),
    ("GET", "/v1/documents/x/chunks"),
    ("PATCH", "/v1/chunks/x"),
    ("POST", "/v1/retrieve"),
]


@pytest.mark.parametrize(("method", "path"), PROTECTED)
def test_nobody_comes_in_without_the_key(app: App, method: str, path: str) -> None:
    for sent in (None, "Bearer wrong", f"Token {KEY}", KEY, "Bearer"):
        headers = {} if sent is None else {"Authorization": sent}
        client = TestClient(app.api, raise_server_exceptions=False)
        for body in (b"{}", b"{", b"[" * 100_000):
            answer = client.request(method, path, headers=headers, content=body)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert_problem(answer, 401)


def test_the_openapi_document_lists_every_route(app: App) -> None:
    document = TestClient(app.api).get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    listed = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
    }
    shapes = {(method, re.sub(r"\{\w+\}", "x", path)) for method, path in listed}
    assert shapes == {*PROTECTED, ("GET", "/health"), ("POST", "/retrieval")}
    json.dumps(document, allow_nan=False)
    operations = {
        (method.upper(), path): operation
        for path, each in document["paths"].items()
        for method, operation in each.items()
    }
    assert {key for key, each in operations.items() if "security" not in each} == {
        ("GET", "/health")
    }
    assert not [key for key, each in operations.items() if "422" in each["responses"]]
    told = {
        ("POST", "/v1/datasets/{dataset_id}/documents"): "415",
        ("PATCH", "/v1/datasets/{dataset_id}/metadata-fields/{name}"): "202",
        ("DELETE", "/v1/datasets/{dataset_id}/metadata-fields/{name}"): "202",
        ("GET", "/health"): "503",
    }
    assert not [key for key, status in told.items() if status not in operations[key]["responses"]]
    waiting = {key for key, each in operations.items() if {"201", "202"} <= set(each["responses"])}
    assert waiting == {
        ("POST", "/v1/datasets/{dataset_id}/documents"),
        ("POST", "/v1/datasets/{dataset_id}/documents/batch"),
        ("DELETE", "/v1/datasets/{dataset_id}"),
        ("DELETE", "/v1/documents/{document_id}"),
        ("POST", "/v1/documents/{document_id}/retry"),
    }
    names = [
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
    ]
    assert len(names) == len(set(names))

    def list_references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for each in value.values():
                yield from list_references(each)
        elif isinstance(value, list):
            for each in value:
                yield from list_references(each)

    for reference in list_references(document):
        target: Any = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]


@pytest.mark.usefixtures("driver_leaks")
def test_a_database_that_is_away_is_503_and_says_no_more(app: App) -> None:
    away = connect("postgresql+pg8000://user:hunter2@127.0.0.1:1/d", timeout=1)
    lost = build(away, app.index, app.search, app.content, threads=2)
    for answer in (
        lost.client.get("/v1/datasets"),
        lost.client.post("/v1/datasets", json={"name": "x", "indexing_technique": "economy"}),
        lost.ask(NOWHERE, "x"),
    ):
        problem = assert_problem(answer, 503)
        assert answer.headers["retry-after"]
        assert problem["detail"] == str(DatabaseUnavailable())
        assert "hunter2" not in answer.text
        assert "127.0.0.1" not in answer.text
    deep = lost.client.get("/health?deep=1")
    assert deep.status_code == 503
    assert deep.json()["postgres"] == str(DatabaseUnavailable())
