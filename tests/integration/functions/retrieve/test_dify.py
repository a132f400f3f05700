"""Dify's External Knowledge API, as Dify calls it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from functions.retrieve.contracts import dify
from functions.retrieve.query import Record, Result
from shared.errors import IndexUnavailable
from shared.postgres.engine import connect
from shared.postgres.retrieval import Generation, RecordText
from tests.fakes.chunks import InMemoryChunks
from tests.integration.app import KEY, App, Json, build, near
from tests.integration.functions.retrieve.test_metadata_filter import EVERYTHING, M

NOWHERE = "00000000-0000-4000-8000-000000000000"
BY_WORDS = {"search_method": "full_text_search"}


@pytest.fixture(scope="module")
def corpus(app: App) -> str:
    """The documents m1 to m6, embedded by the fake embedder."""
    dataset = app.embedded()
    app.put_all(
        dataset,
        [
            {"name": f"m{n}", "metadata": metadata, "text": "alpha handbook"}
            for n, metadata in enumerate(M, start=1)
        ],
    )
    return dataset


def call(
    app: App, body: Any, *, path: str = "/retrieval", key: str | None = f"Bearer {KEY}"
) -> Response:
    """Posts as Dify does: `json.dumps`, a content type, redirects followed."""
    headers = {"Content-Type": "application/json"}
    headers |= {} if key is None else {"Authorization": key}
    client = TestClient(app.api, raise_server_exceptions=False, follow_redirects=True)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content, headers=headers)


def asked(knowledge_id: str, *, condition: Any = None, **setting: Any) -> Json:
    """Returns a body with the members in Dify's order."""
    return {
        "retrieval_setting": {"top_k": 100, "score_threshold": 0.0} | setting,
        "query": "handbook",
        "knowledge_id": knowledge_id,
        "metadata_condition": condition,
    }


def conditions(*written: tuple[Any, ...], joiner: Any = "and") -> Json:
    """Returns `metadata_condition` with every member that Dify's model dumps."""
    return {
        "logical_operator": joiner,
        "conditions": [
            {"name": name, "comparison_operator": operator, "value": value[0] if value else None}
            for name, operator, *value in written
        ],
    }


def find(app: App, body: Any) -> str:
    answer = call(app, body)
    assert answer.status_code == 200, answer.text
    return " ".join(sorted(record["title"] for record in answer.json()["records"]))


def assert_error(answer: Response, status: int, code: int, says: str = "") -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body.keys() == {"error_code", "error_msg"}
    assert body["error_code"] == code
    assert says in body["error_msg"]
    assert body["error_msg"]
    return str(body["error_msg"])


def test_k05_what_dify_sends_is_answered(app: App, corpus: str) -> None:
    body = asked(corpus, condition=conditions(("lang", "is", "en")), top_k=3)
    answer = call(app, body)
    assert answer.status_code == 200, answer.text
    assert not answer.history
    assert answer.headers["content-type"] == "application/json"
    assert answer.json().keys() == {"records"}
    [record] = answer.json()["records"]
    assert record.keys() == {"content", "score", "title", "metadata"}
    assert (record["content"], record["title"]) == ("alpha handbook", "m1")
    assert record["metadata"] == M[0]
    assert isinstance(record["score"], float)
    assert 0 < record["score"] <= 1


def test_k05_dify_takes_our_key_when_it_registers_the_api(app: App) -> None:
    """It posts nothing, without a content type, and refuses 404, 403 and 502."""
    client = TestClient(app.api)
    answer = client.post("/retrieval", headers={"Authorization": f"Bearer {KEY}"})
    assert_error(answer, 400, 400, "JSON object")
    answer = client.post("/retrieval", headers={"Authorization": "Bearer wrong"})
    assert_error(answer, 403, 1002)


@pytest.mark.parametrize(
    ("key", "code"),
    [(None, 1001), ("", 1001), (f"Token {KEY}", 1001), ("Bearer", 1001), (KEY, 1001),
     ("Bearer wrong", 1002)],
)  # fmt: skip
def test_k05_without_the_key_dify_is_told_why(
    app: App, corpus: str, key: str | None, code: int
) -> None:
    for body in (asked(corpus), {}):
        answer = call(app, body, key=key)
        assert_error(answer, 403, code)
        assert "www-authenticate" not in answer.headers
        assert KEY not in answer.text


def test_k05_n13_a_base_that_is_not_there(app: App) -> None:
    made = app.client.post(
        "/v1/datasets", json={"name": "policies", "indexing_technique": "economy"}
    )
    assert made.status_code == 201
    for unknown in (NOWHERE, "policies", "退款"):
        assert_error(call(app, asked(unknown)), 404, 2001, "knowledge_id is a dataset's id")
    assert call(app, asked(made.json()["id"])).json() == {"records": []}


@pytest.mark.parametrize("path", ["/v1/retrieval", "/retrieval/", "/retrieval/retrieval",
                                  "/api/retrieval", "/"])  # fmt: skip
def test_n13_a_wrong_path_names_the_right_one(app: App, corpus: str, path: str) -> None:
    answer = call(app, asked(corpus), path=path)
    assert answer.status_code == 404
    assert not answer.history
    told = answer.json()
    assert "POST /retrieval" in (told["detail"] if path == "/" else told["error_msg"])


def test_n13_there_is_only_post(app: App) -> None:
    answer = app.client.get("/retrieval")
    assert_error(answer, 405, 405, "POST /retrieval")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"query": None}, "/query"),
        ({"query": " "}, "/query"),
        ({"query": "x" * 20_001}, "/query"),
        ({"knowledge_id": None}, "/knowledge_id"),
        ({"knowledge_id": 5}, "/knowledge_id"),
        ({"knowledge_id": ""}, "/knowledge_id"),
        ({"retrieval_setting": None}, "/retrieval_setting"),
        *(({"retrieval_setting": {"top_k": wrong}}, "/retrieval_setting/top_k")
          for wrong in (0, -1, "5", 10**9, 1e9, 4.5, True)),
        *(({"retrieval_setting": {"score_threshold": wrong}}, "/retrieval_setting/score_threshold")
          for wrong in (1.5, -0.1, "0.5", True, float("nan"))),
        ({"metadata_condition": []}, "/metadata_condition"),
        ({"metadata_condition": {"condition": []}}, "/metadata_condition/condition"),
        ({"metadata_condition": {"conditions": {}}}, "/metadata_condition/conditions"),
        *(({"metadata_condition": conditions(("a", "is", 1), joiner=wrong)},
           "/metadata_condition/logical_operator") for wrong in ("xor", "not", "", 5)),
    ],
)  # fmt: skip
def test_k05_a_body_that_means_nothing(app: App, corpus: str, change: Json, pointer: str) -> None:
    assert_error(call(app, asked(corpus) | change), 400, 400, f"{pointer}: ")


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"[]", b"null", b'"x"', b"[" * 100_000])
def test_k05_a_body_that_is_none(app: App, body: bytes) -> None:
    assert_error(call(app, body), 400, 400)


def test_what_the_edge_refuses_is_told_in_difys_words(app: App, corpus: str) -> None:
    for wrong in ("\0", "\ud800"):
        body = asked(corpus) | {"query": wrong}
        assert_error(call(app, body), 400, 400, "/query: holds a")
    assert_error(call(app, b"x" * 8_000_001), 413, 413, "larger than")
    assert_error(call(app, asked(corpus), path="/retrieval?a=%00"), 400, 400, "NUL")


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("contains", "ON", ""),
        ("contains", "yon", "m1 m2"),
        ("not contains", "yon", "m3 m4 m5 m6"),
        ("start with", "Saint", "m3 m4"),
        ("end with", "Paris", "m5"),
        ("is", "lyon", "m2"),
        ("is not", "lyon", "m1 m3 m4 m5 m6"),
        ("in", ["lyon", "Saint_Malo"], "m2 m3"),
        ("in", "lyon, Saint_Malo", "m2 m3"),
        ("not in", ["lyon", "Saint_Malo"], "m1 m4 m5 m6"),
        ("empty", None, "m6"),
        ("not empty", None, "m1 m2 m3 m4 m5"),
        ("null", None, "m6"),
        ("not null", "", "m1 m2 m3 m4 m5"),
    ],
)
def test_difys_operators_on_text(
    app: App, corpus: str, operator: str, value: Any, expected: str
) -> None:
    assert find(app, asked(corpus, condition=conditions(("city", operator, value)))) == expected


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("pages", "=", 5, "m1 m2 m3"),
        ("pages", "≠", 5, "m4 m5 m6"),
        ("pages", ">", 5, "m5"),
        ("pages", "<", 12, "m1 m2 m3"),
        ("pages", "≥", 5, "m1 m2 m3 m5"),
        ("pages", "≤", "5", "m1 m2 m3"),
        ("when", "before", 1744199566, "m1 m3"),
        ("when", "after", "2025-04-09T11:52:45Z", "m2"),
        ("city", "is", "{{city}}", ""),
    ],
)
def test_difys_operators_on_numbers_and_times(
    app: App, corpus: str, name: str, operator: str, value: Any, expected: str
) -> None:
    assert find(app, asked(corpus, condition=conditions((name, operator, value)))) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (None, EVERYTHING),
        ({}, EVERYTHING),
        ({"logical_operator": "and", "conditions": None}, EVERYTHING),
        ({"logical_operator": None, "conditions": []}, EVERYTHING),
        (conditions(("pages", "=", 5), ("ok", "is", "true")), "m1"),
        (conditions(("pages", "=", 5), ("ok", "is", "true"), joiner=None), "m1"),
        (conditions(("pages", "=", 12), ("ok", "is", "true"), joiner="or"), "m1 m5"),
        (conditions((["lang"], "is", "en")), "m1"),
        (conditions((["lang", "code"], "in", ["en", "7"])), "m1 m5"),
        (conditions((["lang", "code"], "is not", "en")), "m2 m3 m4 m5 m6"),
        (conditions((["lang", "code"], "empty")), "m2 m3 m6"),
        (conditions((["lang", "code"], "not empty")), "m1 m4 m5"),
        (conditions((["lang", "code"], "is", "7"), ("pages", "=", 12)), "m5"),
    ],
)
def test_k05_conditions_in_every_form(app: App, corpus: str, condition: Any, expected: str) -> None:
    assert find(app, asked(corpus, condition=condition)) == expected


def test_k05_a_body_without_a_condition(app: App, corpus: str) -> None:
    body = asked(corpus)
    del body["metadata_condition"]
    assert find(app, body) == EVERYTHING
    assert find(app, body | {"user": "u-1", "later": {}}) == EVERYTHING


@pytest.mark.parametrize(
    ("condition", "below"),
    [
        (("lang", "like", "en"), "comparison_operator"),
        (("lang", 5, "en"), "comparison_operator"),
        (("lang", ["is"], "en"), "comparison_operator"),
        (("", "is", "en"), "name"),
        (([], "is", "en"), "name"),
        ((["a", ""], "is", "en"), "name"),
        ((None, "is", "en"), "name"),
        (("pages", ">", "many"), "value"),
        ((["pages", "when"], ">", "many"), "value"),
        (("lang", "is"), "value"),
        (("lang", "contains", ""), "value"),
        (("when", "after", "soon"), "value"),
        (("lang", "in", ["en", None]), "value/1"),
    ],
)
def test_a_condition_that_means_nothing_is_pointed_at(
    app: App, corpus: str, condition: tuple[Any, ...], below: str
) -> None:
    body = asked(corpus, condition=conditions(("ok", "empty"), condition))
    told = assert_error(call(app, body), 400, 400)
    assert told.startswith(f"/metadata_condition/conditions/1/{below}: ")


def test_an_unknown_member_of_a_filter_is_refused_for_it_might_narrow(
    app: App, corpus: str
) -> None:
    condition = conditions(("lang", "is", "en"))
    condition["conditions"][0]["negate"] = True
    body = asked(corpus, condition=condition)
    assert_error(call(app, body), 400, 400, "/metadata_condition/conditions/0/negate: unknown")


@pytest.mark.parametrize("setting", [{"top_k": None}, {}])
def test_k05_without_top_k_the_default_counts(app: App, corpus: str, setting: Json) -> None:
    body = asked(corpus) | {"retrieval_setting": {"score_threshold": 0.0} | setting}
    assert len(call(app, body).json()["records"]) == 4


def by_words(app: App, **retrieval: Any) -> str:
    dataset = app.economy(retrieval={"search_method": "full_text_search"} | retrieval)
    app.put_text(dataset, "near.txt", "handbook")
    app.put_text(dataset, "far.txt", "handbook " + "of other things " * 30)
    return dataset


def test_n15_threshold_0_is_off_and_the_datasets_defaults_hold(app: App) -> None:
    dataset = by_words(app, top_k=1, score_threshold=1)
    for off in (0, 0.0, None):
        assert find(app, asked(dataset, score_threshold=off, top_k=2)) == "far.txt near.txt"
        assert find(app, asked(dataset, score_threshold=off, top_k=None)) == "near.txt"
    unsaid = asked(dataset) | {"retrieval_setting": {"top_k": 2}}
    assert find(app, unsaid) == ""
    assert find(app, asked(dataset, score_threshold=1, top_k=2)) == ""
    scores = {r["title"]: r["score"] for r in call(app, asked(dataset)).json()["records"]}
    between = (scores["near.txt"] + scores["far.txt"]) / 2
    assert find(app, asked(dataset, score_threshold=between, top_k=2)) == "near.txt"


@pytest.mark.parametrize(
    "retrieval",
    [
        {"fusion": {"method": "rrf"}},
        {"fusion": {"method": "none"}},
        {"fusion": {"method": "weighted_score", "weights": {"vector": 0, "keyword": 1}}},
        {"search_method": "semantic_search"},
        {"search_method": "full_text_search"},
        {"search_method": "keyword_search"},
    ],
)
def test_n02_every_record_is_whole_and_every_score_in_0_to_1(app: App, retrieval: Json) -> None:
    dataset = app.embedded(retrieval=retrieval)
    app.put_text(dataset, "bare", "alpha handbook")
    app.put_text(dataset, "rich", "the handbook of beta", metadata={"a": 1})
    records = call(app, asked(dataset)).json()["records"]
    assert {record["title"] for record in records} == {"bare", "rich"}
    for record in records:
        assert isinstance(record["content"], str)
        assert isinstance(record["metadata"], dict)
        assert isinstance(record["score"], float)
        assert 0 <= record["score"] <= 1
    if retrieval.get("fusion") == {"method": "rrf"}:
        assert records[0]["score"] > 0.9  # not the 0.03 of a plain sum


def test_n03_metadata_comes_back_as_it_was_sent(app: App) -> None:
    metadata = {"version": 3, "ratio": 2.5, "ok": True, "tags": ["a", "b"], "note": None,
                "deep": {"x": 1}, "score": "mine"}  # fmt: skip
    dataset = app.economy()
    app.put_text(dataset, "a", "handbook", metadata=metadata)
    [record] = call(app, asked(dataset)).json()["records"]
    assert record["metadata"] == metadata


def test_a_dataset_that_needs_vectors_says_so(app: App) -> None:
    given = app.dataset()
    app.put(given, "a", near("handbook", 0.5))
    assert_error(call(app, asked(given)), 400, 400, "/knowledge_id: this dataset needs a vector")
    changed = app.client.patch(f"/v1/datasets/{given}", json={"retrieval": BY_WORDS})
    assert changed.status_code == 200
    assert find(app, asked(given)) == "a"


class Silent(InMemoryChunks):
    def search_vector(self, *_: Any) -> Any:
        raise IndexUnavailable

    def search_text(self, *_: Any) -> Any:
        raise IndexUnavailable


class Broken(InMemoryChunks):
    def search_keywords(self, *_: Any) -> Any:
        raise RuntimeError("SELECT secret")


@pytest.fixture
def failing(in_memory: Callable[[InMemoryChunks], App]) -> Iterator[Any]:
    def make(chunks: InMemoryChunks, **retrieval: Any) -> Response:
        app = in_memory(chunks)
        dataset = app.embedded(retrieval=retrieval)
        app.put_text(dataset, "a", "handbook")
        return call(app, asked(dataset))

    return iter([make])


def test_a_silent_index_is_503_and_a_fault_500(failing: Iterator[Any]) -> None:
    make = next(failing)
    silent = make(Silent())
    assert_error(silent, 503, 503, "does not answer")
    assert silent.headers["retry-after"]
    fault = make(Broken(), search_method="keyword_search")
    assert_error(fault, 500, 500)
    assert "secret" not in fault.text


@pytest.mark.usefixtures("driver_leaks")
def test_a_database_that_is_away_is_503(app: App) -> None:
    away = connect("postgresql+pg8000://user:hunter2@127.0.0.1:1/d", timeout=1)
    lost = build(away, app.index, app.search, app.content, threads=2)
    answer = call(lost, asked(NOWHERE))
    assert_error(answer, 503, 503)
    assert answer.headers["retry-after"]
    assert "hunter2" not in answer.text


def test_difys_errors_are_logged_without_the_query(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    call(app, asked(NOWHERE) | {"query": "what nobody may read"})
    told = [vars(each) for each in caplog.records if vars(each).get("error_code") == 2001]
    assert [(each["levelname"], each["status"]) for each in told] == [("WARNING", 404)]
    assert NOWHERE in told[0]["detail"]
    assert "nobody may read" not in str(told)


def test_the_native_api_keeps_its_problems(app: App) -> None:
    answer = app.client.post("/v1/retrieve", json={})
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_answer_stays_below_what_lambda_can_answer() -> None:
    explanation: Any = None

    def make(content: str) -> Record:
        text = RecordText(
            chunk_id="c",
            document_id="d",
            dataset_id="s",
            content=content,
            title="t",
            metadata={},
            position=1,
            page=None,
            source=None,
            generation=Generation.BOTH,
        )
        return Record(text, 0.5, explanation)

    large = dify.to_answer(Result(records=[make("退" * 1_000_000)] * 2))
    assert len(large) < 5_000_000
    assert len(json.loads(large)["records"]) == 1
