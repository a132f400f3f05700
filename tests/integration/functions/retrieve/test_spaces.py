"""Datasets of several embedding models in one query."""

from typing import Any

import pytest

from functions.retrieve.contracts.spaces import MOST_SPACES
from tests.fakes.reranker import FakeReranker, FakeRerankers
from tests.integration.app import App, Embedders, Json, near, where

RRF: Json = {"fusion": {"method": "rrf"}, "query_vector": None}
PLAIN: Json = {"query_vector": None}


def embedded(app: App, model: str) -> str:
    """Makes a dataset that a fake of this model embeds."""
    embedding = {"provider": "openai_compatible", "model": model, "dimension": 8}
    return app.make({"embedding": embedding})


@pytest.fixture(scope="module")
def one(app: App) -> str:
    dataset = embedded(app, "model-one")
    for name, text in {"a1": "refund policy", "a2": "policy of refunds and fees"}.items():
        app.put_text(dataset, f"{name}.txt", text, metadata={"lang": "en"})
    return dataset


@pytest.fixture(scope="module")
def two(app: App) -> str:
    dataset = embedded(app, "model-two")
    app.put_text(dataset, "b1.txt", "the refund policy of annual plans", metadata={"lang": "en"})
    app.put_text(dataset, "b2.txt", "shipping times", metadata={"lang": "zh"})
    return dataset


@pytest.fixture(scope="module")
def three(app: App) -> str:
    dataset = app.economy()
    app.put_text(dataset, "c1.txt", "refund window", metadata={"lang": "en"})
    return dataset


def scores(found: Json) -> dict[str, float]:
    return {record["title"]: record["score"] for record in found["records"]}


def test_rrf_takes_each_models_own_ranks(app: App, one: str, two: str) -> None:
    query = "refund policy"
    together = app.retrieve([one, two], query, top_k=10, explain=True, **RRF)
    apart = [app.retrieve(each, query, top_k=10, explain=True, **RRF) for each in (one, two)]
    alone = {r["title"]: r["explain"] for found in apart for r in found["records"]}
    assert len(alone) == 4
    assert {r["title"]: r["explain"] for r in together["records"]} == alone
    best = [record["title"] for record in together["records"]][:2]
    assert sorted(best) == ["a1.txt", "b1.txt"]
    assert {together["records"][n]["score"] for n in (0, 1)} == {1.0}


@pytest.mark.parametrize("method", ["semantic_search", "hybrid_search"])
def test_a_reranking_model_compares_what_cosines_cannot(
    app: App, one: str, two: str, method: str
) -> None:
    best = ["the refund policy of annual plans", "policy of refunds and fees"]
    rerankers = FakeRerankers(FakeReranker(lambda _, p: 0.9 - 0.1 * ([*best, p].index(p))))
    asked: Json = PLAIN | {"search_method": method, "fusion": {"method": "reranking_model"}}
    ask = app.with_reranker(rerankers).ask
    answer = ask([one, two], "refund policy", top_k=2, explain=True, **asked).json()
    assert [(r["content"], r["score"]) for r in answer["records"]] == [
        (best[0], 0.9),
        (best[1], 0.8),
    ]
    [(_, passages, _)] = rerankers.reranker.asked
    assert len(passages) == 4
    # Where it fails ranks decide: the first of each model is as good as the other's.
    rerankers.reranker.broken = "it sleeps"
    answer = ask([one, two], "refund policy", top_k=4, explain=True, **asked).json()
    assert [each["channel"] for each in answer["degraded"]] == ["reranking_model"]
    found = answer["records"]
    assert {record["dataset_id"] for record in found[:2]} == {one, two}
    for record in found:
        standings = record["explain"]["channels"]
        channels = ["vector"] if method == "semantic_search" else ["vector", "text"]
        parts = [1 / (60 + standings[c]["rank"]) for c in channels if c in standings]
        assert record["score"] == pytest.approx(sum(parts) * 61 / len(channels))


def test_a_default_for_hybrid_queries_is_nothing_to_a_semantic_one(app: App) -> None:
    """Not even rrf, by which models are scored apart."""
    dataset = app.dataset(retrieval={"fusion": {"method": "rrf"}})
    app.put(dataset, "a", near("refund", 0.6))
    [record] = app.retrieve(dataset, "refund", search_method="semantic_search")["records"]
    assert record["score"] == pytest.approx(0.6, abs=1e-5)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"fusion": {"method": "none"}},
        {"fusion": {"keyword_scoring": "bm25"}},
        {"search_method": "semantic_search"},
    ],
)
def test_cosines_of_different_models_are_never_compared(
    app: App, one: str, two: str, asked: Json
) -> None:
    refused = app.ask([one, two], "refund", **asked)
    assert refused.status_code == 400
    [problem] = refused.json()["errors"]
    assert problem["pointer"] == "/dataset_ids"
    assert "rrf" in problem["detail"]
    assert "reranking_model" in problem["detail"]
    for each in (one, two):
        assert app.ask(each, "refund", **asked).status_code == 200


def test_full_text_search_gives_each_its_own_share(
    app: App, one: str, two: str, three: str
) -> None:
    asked = PLAIN | {"search_method": "full_text_search"}
    together = scores(app.retrieve([one, two, three], "refund policy", **asked))
    apart = [scores(app.retrieve(each, "refund policy", **asked)) for each in (one, two, three)]
    assert together == {title: score for found in apart for title, score in found.items()}
    assert set(together) == {"a1.txt", "a2.txt", "b1.txt", "c1.txt"}
    assert list(together.values()) == sorted(together.values(), reverse=True)


@pytest.mark.parametrize("scoring", ["dify", "bm25"])
def test_keyword_search_scores_the_candidates_of_all(
    app: App, one: str, two: str, three: str, scoring: str
) -> None:
    asked = PLAIN | {"search_method": "keyword_search", "fusion": {"keyword_scoring": scoring}}
    found = scores(app.retrieve([one, two, three], "refund policy", **asked))
    assert set(found) == {"a1.txt", "a2.txt", "b1.txt", "c1.txt"}
    assert max(found, key=found.__getitem__) == "a1.txt"
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_a_filter_holds_in_every_space(app: App, one: str, two: str, three: str) -> None:
    for lang, expected in {"zh": {"b2.txt"}, "fr": set()}.items():
        only = {"metadata_filtering": where(("lang", "is", lang))}
        assert set(app.titles([one, two], "shipping", **RRF, **only)) == expected
        asked = PLAIN | only | {"search_method": "full_text_search"}
        assert set(app.titles([three, two, one], "shipping", **asked)) == expected


@pytest.mark.parametrize(
    "asked", [{"fusion": {"method": "rrf"}}, {"search_method": "full_text_search"}]
)
def test_a_vector_belongs_to_one_model(app: App, one: str, two: str, asked: Json) -> None:
    refused = app.ask([one, two], "refund", query_vector=[0.0] * 7 + [1.0], **asked)
    assert refused.status_code == 400
    assert [problem["pointer"] for problem in refused.json()["errors"]] == ["/query_vector"]


def test_what_needs_the_querys_vector_is_searched_by_words_or_alone(app: App, one: str) -> None:
    given = app.dataset()
    app.put(given, "g1", {"text": "refund", "vector": [1, 0]})
    refused = app.ask([one, given], "refund", fusion={"method": "rrf"})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "/dataset_ids"
    found = app.titles([one, given], "refund", search_method="full_text_search", **PLAIN)
    assert "g1" in found


def test_an_economy_dataset_among_others_is_searched_by_words_alone(
    app: App, one: str, three: str
) -> None:
    for asked in ({"fusion": {"method": "rrf"}}, {"search_method": "semantic_search"}, {}):
        refused = app.ask([one, three], "refund", **asked)
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["pointer"] == "/search_method"


def test_more_models_than_are_searched_at_once_are_refused(app: App) -> None:
    datasets = [embedded(app, f"model-{n}") for n in range(MOST_SPACES + 1)]
    for dataset in datasets:
        app.put_text(dataset, "d.txt", "refund")
    refused = app.ask(datasets, "refund", **RRF)
    assert refused.status_code == 400
    [problem] = refused.json()["errors"]
    assert problem["pointer"] == "/dataset_ids"
    assert str(MOST_SPACES) in problem["detail"]
    assert len(app.titles(datasets[1:], "refund", **RRF)) == MOST_SPACES


def test_a_channel_that_fails_in_one_space_is_named_with_its_model(
    app: App, one: str, two: str
) -> None:
    broken = Embedders()
    for space in app.embedders.made:
        if space.model == "model-two":
            broken(space)
            broken.made[space].broken = "the model sleeps"
    lame = app.with_search(app.search, embedders=broken)
    answer = lame.ask([one, two], "refund policy", top_k=10, **RRF)
    assert answer.json()["degraded"] == [
        {"channel": "vector", "reason": "model-two: the model sleeps"}
    ]
    titles = {record["title"] for record in answer.json()["records"]}
    assert titles == {"a1.txt", "a2.txt", "b1.txt"}
    strict: dict[str, Any] = RRF | {"on_channel_failure": "error"}
    assert lame.ask([one, two], "refund policy", **strict).status_code == 503
