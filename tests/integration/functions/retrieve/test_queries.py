"""What queries may be made of: languages, odd characters, datasets of every kind, defaults."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.app import App, Json, near

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    made = app.dataset()
    app.put(made, "en", near("The refund policy of annual plans", 0.6))
    app.put(made, "zh", near("知识库检索配置说明", 0.5))
    app.put(made, "other", near("数据库备份", 0.4))
    return made


def test_g01_a_chinese_query_scores_the_chinese_chunk(app: App, dataset: str) -> None:
    for method in ("full_text_search", "keyword_search"):
        found = app.retrieve(dataset, "知识库检索", search_method=method)
        scores = {record["title"]: record["score"] for record in found["records"]}
        assert scores["zh"] > scores.get("other", 0.0)


@pytest.mark.parametrize(
    "text", ["😀 naïve \u200fעברית\u200e", "zero\u200bwidth", "e\u0301", "𝒳 math"]
)
def test_g13_odd_but_valid_characters_survive_the_round_trip(app: App, text: str) -> None:
    dataset = app.dataset()
    metadata = {text: text, "list": [text]}
    document = app.put(dataset, text, near(f"words {text}", 0.5), metadata=metadata)
    [record] = app.retrieve(dataset, f"words {text}")["records"]
    assert (record["title"], record["content"]) == (text, f"words {text}")
    assert record["metadata"] == metadata
    assert app.client.get(f"/v1/documents/{document['id']}").json()["metadata"] == metadata


@pytest.mark.parametrize("method", METHODS)
def test_g14_a_query_of_punctuation_finds_no_words_and_does_not_fail(
    app: App, dataset: str, method: str
) -> None:
    for query in ("?!…", "---", '"\'"', "。、"):
        found = app.titles(dataset, query, search_method=method)
        nearest = ["en", "zh", "other"] if method in ("semantic_search", "hybrid_search") else []
        assert found == nearest


@pytest.mark.parametrize("method", METHODS)
def test_g14_quotes_change_nothing(app: App, dataset: str, method: str) -> None:
    plain = app.retrieve(dataset, "refund policy", search_method=method)["records"]
    quoted = app.retrieve(dataset, '"refund" policy"', search_method=method)["records"]
    assert quoted == plain


@pytest.mark.parametrize("method", METHODS)
def test_g14_a_query_of_20000_characters(app: App, dataset: str, method: str) -> None:
    words = " ".join(f"word{n}" for n in range(3_000))
    query = f"refund {words}"[:20_000]
    found = app.retrieve(dataset, query, search_method=method, explain=True)
    assert (found["left_out_words"] > 0) == (method != "semantic_search")


def test_a_full_text_score_does_not_depend_on_the_other_hits(app: App) -> None:
    dataset = app.dataset(model=uuid.uuid4().hex)
    app.put(dataset, "a", near("refund policy", 0.5))
    app.put(dataset, "b", near("refund window details overview", 0.5))
    app.put(dataset, "c", near("shipping", 0.5))
    found = app.retrieve(dataset, "refund policy", search_method="full_text_search")
    scores = [record["score"] for record in found["records"]]
    assert [record["title"] for record in found["records"]] == ["a", "b"]
    assert all(0 < score < 1 for score in scores)
    one = app.retrieve(dataset, "refund policy", search_method="full_text_search", top_k=1)
    assert one["records"][0]["score"] == scores[0]


def test_an_economy_dataset_searches_words_alone(app: App) -> None:
    dataset = app.economy()
    app.put_text(dataset, "a.txt", "refund policy")
    ask = app.ask
    assert ask(dataset, "refund").json()["records"][0]["title"] == "a.txt"
    for method in ("keyword_search", "full_text_search"):
        assert ask(dataset, "refund", search_method=method).status_code == 200
    for method in ("semantic_search", "hybrid_search"):
        refused = ask(dataset, "refund", search_method=method)
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["pointer"] == "/search_method"
    refused = ask(dataset, "refund", query_vector=[1, 0])
    assert refused.json()["errors"][0]["pointer"] == "/query_vector"


def test_a_dataset_that_embeds_takes_text_and_finds_it(app: App) -> None:
    dataset = app.embedded()
    app.put_text(dataset, "a.md", "# Fees\n\nThe refund policy.\n")
    app.put_text(dataset, "b.md", "Opening hours of the office.")
    for method in METHODS:
        answer = app.ask(dataset, "the refund policy", search_method=method, explain=True)
        assert answer.json()["records"][0]["title"] == "a.md", method
    answer = app.ask(dataset, "the refund policy", explain=True)
    assert answer.json()["records"][0]["explain"]["vector_score"] > 0


def test_a_datasets_own_settings_are_the_defaults_of_its_queries(app: App) -> None:
    retrieval: Json = {"search_method": "semantic_search", "top_k": 1, "score_threshold": 0.45}
    dataset = app.dataset(retrieval=retrieval)
    for name, cosine in {"a": 0.9, "b": 0.5, "c": 0.4}.items():
        app.put(dataset, name, near("words", cosine))
    assert app.titles(dataset, "words") == ["a"]
    assert app.titles(dataset, "words", top_k=3) == ["a", "b"]
    assert app.titles(dataset, "words", top_k=3, score_threshold=None) == ["a", "b", "c"]


def test_default_fusion_does_not_stand_in_the_way_of_another_search_method(app: App) -> None:
    dataset = app.dataset(retrieval={"fusion": {"method": "rrf", "rank_constant": 10}})
    app.put(dataset, "a", near("words", 0.9))
    assert app.titles(dataset, "words", search_method="semantic_search") == ["a"]
    found = app.retrieve(dataset, "words", explain=True)
    assert found["records"][0]["score"] == pytest.approx(1.0)
    named = app.ask(
        dataset, "x", query_vector=[1, 0], search_method="keyword_search", fusion={"method": "rrf"}
    )
    assert named.json()["errors"][0]["pointer"] == "/fusion/method"


@pytest.mark.parametrize("vector", [[1, 0], [1.0, 0.0], [1, 0.0]])
def test_j07_numbers_of_any_kind_make_a_vector(app: App, dataset: str, vector: list[float]) -> None:
    found = app.retrieve(dataset, "x", query_vector=vector, search_method="semantic_search")
    assert [round(record["score"], 5) for record in found["records"]] == [0.6, 0.5, 0.4]


@pytest.mark.parametrize(
    "vector", [[], [1], [1, 0, 0], [0, 0], ["1", 0], [True, 0], [None, 1], "10", {}, [1e39, 0]]
)
def test_j07_what_is_no_vector_of_the_space_is_refused(app: App, dataset: str, vector: Any) -> None:
    refused = app.ask(dataset, "x", query_vector=vector)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"].startswith("/query_vector")
    path = f"/v1/datasets/{dataset}/documents"
    chunks = [{"text": "fine", "vector": [1, 0]}, {"text": "wrong", "vector": vector}]
    refused = app.client.post(path, json={"name": "a", "chunks": chunks})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"].startswith("/chunks/1/vector")
    assert app.scalar("SELECT count(*) FROM documents WHERE dataset_id = :id", id=dataset) == 3


def test_j06_an_index_that_was_deleted_by_hand_comes_back_with_the_next_document(app: App) -> None:
    dataset = app.dataset(model=f"lost{uuid.uuid4().hex}")
    app.put(dataset, "a", near("refund", 0.5))
    engine = app.index._engine  # type: ignore[attr-defined]
    prefix = app.index._prefix  # type: ignore[attr-defined]
    listed = engine.request("GET", f"/{prefix}-*lost*/_alias")
    [index] = listed
    engine.request("DELETE", f"/{index}")
    answer = app.ask(dataset, "refund", query_vector=[1, 0])
    assert answer.status_code == 503
    assert index not in answer.text
    app.put(dataset, "b", near("refund", 0.9))
    assert app.titles(dataset, "refund") == ["b"]
    mapping = next(iter(engine.request("GET", f"/{prefix}-*lost*/_mapping").values()))["mappings"]
    assert mapping["dynamic"] == "strict"
    assert mapping["properties"]["vector"]["type"] == "knn_vector"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"fusion": {"method": "reranking_model"}}, "/fusion/method"),
        ({"attachments": [{"media_type": "image/png", "data": ""}]}, "/attachments"),
    ],
)
def test_what_is_to_come_is_a_clear_refusal(
    app: App, dataset: str, body: Json, pointer: str
) -> None:
    refused = app.ask(dataset, "x", query_vector=[1, 0], **body)
    assert refused.status_code == 400
    [problem] = refused.json()["errors"]
    assert problem["pointer"] == pointer
    assert "not available yet" in problem["detail"]


@pytest.mark.parametrize("length", [1e-30, 1e-22, 1e-3, 1.0, 1e20, 1e30])
def test_only_the_direction_of_a_vector_counts(app: App, length: float) -> None:
    dataset = app.dataset()
    chunks = [
        {"text": "alpha", "vector": [0.6 * length, 0.8 * length]},
        {"text": "beta", "vector": [length, 0]},
    ]
    app.put(dataset, "a", *chunks)
    found = app.retrieve(dataset, "x", query_vector=[length, 0], search_method="semantic_search")
    scores = {record["content"]: record["score"] for record in found["records"]}
    assert scores == pytest.approx({"beta": 1.0, "alpha": 0.6}, abs=1e-5)


@pytest.mark.parametrize("scoring", ["dify", "bm25"])
def test_sixteen_callers_at_once_are_all_answered(app: App, dataset: str, scoring: str) -> None:
    more: Json = {"deadline_ms": 20_000, "fusion": {"keyword_scoring": scoring}}
    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(app.retrieve, dataset, "refund policy", **more) for _ in range(64)]
        answers = [each.result() for each in asked]
    assert not any(answer["degraded"] for answer in answers)
    assert {len(answer["records"]) for answer in answers} == {3}


def test_conditions_without_a_mode_are_refused_and_disabled_ones_do_nothing(
    app: App, dataset: str
) -> None:
    conditions = [{"name": "lang", "comparison_operator": "is", "value": "nowhere"}]
    answer = app.ask(dataset, "refund", metadata_filtering={"conditions": conditions})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/metadata_filtering/mode"
    off = {"mode": "disabled", "conditions": conditions}
    found = app.retrieve(dataset, "refund", metadata_filtering=off)
    assert found["applied_filter"] is None
    assert len(found["records"]) == 3


@pytest.mark.parametrize("conditions", [5, "x", True])
def test_conditions_that_are_no_list_are_refused_where_they_stand(
    app: App, dataset: str, conditions: Any
) -> None:
    filtering = {"mode": "manual", "conditions": conditions}
    answer = app.ask(dataset, "refund", metadata_filtering=filtering)
    assert answer.status_code == 400
    pointers = [error["pointer"] for error in answer.json()["errors"]]
    assert pointers == ["/metadata_filtering/conditions"]
