"""Scores, thresholds and order through the API."""

import itertools
import math
import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from shared.fusion.balance import balance_weights
from tests.integration.app import App, Json, near, where

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]
FLOAT32 = 1e-5
DIFY: Json = {"fusion": {"keyword_scoring": "dify"}}


def weigh(vector: float, keyword: float, **more: Any) -> Json:
    return {"method": "weighted_score", "weights": {"vector": vector, "keyword": keyword}} | more


def scores(found: Json) -> dict[str, float]:
    return {record["title"]: record["score"] for record in found["records"]}


@pytest.fixture(scope="module")
def golden(app: App) -> str:
    """The candidates of the first row of the golden keyword figures, with V .40, .55 and .20."""
    dataset = app.dataset()
    app.put(dataset, "twice", near("refund policy refund policy", 0.40))
    app.put(dataset, "annual", near("refund policy for annual plans", 0.55))
    app.put(dataset, "shipping", near("shipping times", 0.20))
    return dataset


def test_the_golden_figures_come_out_of_the_api(app: App, golden: str) -> None:
    found = app.retrieve(golden, "refund policy", explain=True, **DIFY)
    assert [r["title"] for r in found["records"]] == ["twice", "annual", "shipping"]
    expected = {"twice": (0.40, 1.0, 0.58), "annual": (0.55, 0.605349, 0.566605),
                "shipping": (0.20, 0.0, 0.14)}  # fmt: skip
    for record in found["records"]:
        explained = record["explain"]
        shown = (explained["vector_score"], explained["keyword_score"], record["score"])
        assert shown == pytest.approx(expected[record["title"]], abs=FLOAT32)
        assert explained["final_score"] == record["score"]
        assert explained["weights"] == {"vector": 0.7, "keyword": 0.3}


def test_f01_f09_e15_a_chunk_of_both_channels_comes_once_with_both_standings(
    app: App, golden: str
) -> None:
    found = app.retrieve(golden, "refund policy", explain=True, top_k=8)
    ids = [record["chunk_id"] for record in found["records"]]
    assert len(ids) == len(set(ids)) == 3
    channels = {r["title"]: r["explain"]["channels"] for r in found["records"]}
    assert set(channels["twice"]) == set(channels["annual"]) == {"vector", "text"}
    assert set(channels["shipping"]) == {"vector"}
    assert {title: c["vector"]["rank"] for title, c in channels.items()} == {
        "annual": 1, "twice": 2, "shipping": 3,
    }  # fmt: skip


def test_e01_the_threshold_is_compared_with_the_fused_score(app: App) -> None:
    dataset = app.dataset()
    app.put(dataset, "kept", near("refund", 0.30))
    app.put(dataset, "lost", near("shipping", 0.9))
    fusion = weigh(0.5, 0.5, keyword_scoring="dify")
    found = app.retrieve(dataset, "refund", fusion=fusion, score_threshold=0.5, explain=True)
    assert scores(found) == pytest.approx({"kept": 0.65}, abs=FLOAT32)
    [dropped] = found["dropped"]
    assert dropped["reason"] == "threshold"
    assert dropped["explain"]["final_score"] == pytest.approx(0.45, abs=FLOAT32)


def test_e03_a_score_that_equals_the_threshold_is_kept(app: App) -> None:
    dataset = app.dataset(dimension=4)
    # 3/5 and 4/5 in float32: the cosine is .6 to the last digit the engine gives
    app.put(dataset, "equal", {"text": "refund", "vector": [3, 4, 0, 0]})
    query: Json = {"query_vector": [1, 0, 0, 0], "score_threshold": 0.6}
    assert app.titles(dataset, "refund", search_method="semantic_search", **query) == ["equal"]
    query |= DIFY | {"score_threshold": 0.72}  # .7 · .6 + .3 · 1
    assert app.titles(dataset, "refund", **query) == ["equal"]
    query["score_threshold"] = 0.7200001
    assert app.titles(dataset, "refund", **query) == []


def test_e05_scores_are_made_once_whatever_the_number_of_datasets(app: App, golden: str) -> None:
    other = app.dataset()
    app.put(other, "elsewhere", near("nothing alike", 0.1))
    alone = scores(app.retrieve(golden, "refund policy", **DIFY))
    together = scores(app.retrieve([golden, other, golden], "refund policy", top_k=10, **DIFY))
    together.pop("elsewhere")
    assert set(together) == set(alone)
    assert together["twice"] == pytest.approx(0.58, abs=FLOAT32)


def test_e06_fused_scores_stay_in_range(app: App) -> None:
    dice = random.Random(6)  # noqa: S311  no secret
    words = ["refund", "policy", "annual", "plan", "ship", "time"]
    dataset = app.dataset()
    texts = [" ".join(dice.choices(words, k=dice.randrange(1, 9))) for _ in range(40)]
    app.put(dataset, "random", *(near(text, dice.random()) for text in texts))
    for _ in range(25):
        query = " ".join(dice.choices(words, k=3))
        weight = dice.random()
        found = app.retrieve(
            dataset, query, fusion=weigh(weight, 1 - weight), top_k=100, explain=True
        )
        assert len(found["records"]) == 40
        ordered = [r["explain"]["final_score"] for r in found["records"]]
        assert all(0 <= score <= 1 for score in ordered)
        assert ordered == sorted(ordered, reverse=True)


def test_e10_an_empty_channel_is_no_trouble(app: App, golden: str) -> None:
    assert len(app.titles(golden, "xylophone")) == 3  # the vector channel alone has hits
    assert app.titles(golden, "xylophone", search_method="full_text_search") == []
    assert app.titles(app.dataset(), "refund") == []


FUSIONS: list[Json] = [{"keyword_scoring": "dify"}, {"keyword_scoring": "bm25"}, {"method": "rrf"}]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_d08_e12_weights_decide_the_order(app: App, fusion: Json) -> None:
    dataset = app.dataset()
    app.put(dataset, "near", near("something else", 0.9))
    app.put(dataset, "word", near("refund policy", 0.1))
    orders = {
        weights: app.titles(dataset, "refund policy", fusion=weigh(*weights) | fusion)
        for weights in ((1, 0), (0, 1))
    }
    assert orders == {(1, 0): ["near", "word"], (0, 1): ["word", "near"]}


@pytest.mark.parametrize("fusion", FUSIONS)
def test_e12_all_weight_on_vectors_is_the_vectors_order(
    app: App, golden: str, fusion: Json
) -> None:
    by_vector = app.titles(golden, "refund policy", search_method="semantic_search")
    assert app.titles(golden, "refund policy", fusion=weigh(1, 0) | fusion) == by_vector


def test_rrf_scores_by_its_formula(app: App, golden: str) -> None:
    found = app.retrieve(golden, "refund policy", fusion={"method": "rrf"}, explain=True)
    for record in found["records"]:
        ranks = [standing["rank"] for standing in record["explain"]["channels"].values()]
        expected = sum(1 / (60 + rank) for rank in ranks) / (2 / 61)
        assert record["score"] == pytest.approx(expected, abs=1e-12)


def test_none_orders_by_the_cosine_alone_and_compares_it_with_the_threshold(
    app: App, golden: str
) -> None:
    found = app.retrieve(
        golden, "shipping times", fusion={"method": "none"}, score_threshold=0.3, explain=True
    )
    assert list(scores(found)) == ["annual", "twice"]
    assert scores(found) == pytest.approx({"annual": 0.55, "twice": 0.40}, abs=FLOAT32)
    [dropped] = found["dropped"]
    assert dropped["reason"] == "threshold"
    assert set(dropped["explain"]["channels"]) == {"vector", "text"}
    explained = [each["explain"] for each in (*found["records"], dropped)]
    for each in explained:
        assert each["final_score"] == each["vector_score"]
        assert each["keyword_score"] is each["weights"] is None


def test_every_candidate_that_fell_out_is_explained_with_its_reason(app: App, golden: str) -> None:
    asked: Json = {"explain": True, "fusion": weigh(0.7, 0.3, keyword_scoring="dify")}
    found = app.retrieve(golden, "refund policy", top_k=1, score_threshold=0.5, **asked)
    assert list(scores(found)) == ["twice"]
    every = app.retrieve(golden, "refund policy", top_k=9, **asked)["records"]
    known = {record["chunk_id"]: record["explain"] for record in every}
    assert [each["reason"] for each in found["dropped"]] == ["top_k", "threshold"]
    for each in found["dropped"]:
        assert each["explain"] == known[each["chunk_id"]] | {"threshold": 0.5}


def test_the_weights_that_a_query_comes_by_are_shown_and_made_of_its_candidates(app: App) -> None:
    dataset = app.dataset(model="weights of a query's own")
    for n in range(8):
        app.put(dataset, str(n), near("refund policy" if n == 5 else f"other {n}", 0.3 + n / 20))
    shown = {}
    for query in ("refund policy", "xylophone"):
        answers = [app.retrieve(dataset, query, explain=True, top_k=k) for k in (2, 8)]
        few, every = (
            [each["explain"] for each in (*answer["records"], *answer["dropped"])]
            for answer in answers
        )
        assert few == every  # whatever top_k is
        [weights] = {tuple(each["weights"].items()) for each in every}
        v, k = (np.array([e[f"{of}_score"] for e in every]) for of in ("vector", "keyword"))
        assert dict(weights) == pytest.approx(asdict(balance_weights(v, k)))
        for each in every:
            expected = np.dot(
                list(dict(weights).values()), [each["vector_score"], each["keyword_score"]]
            )
            assert each["final_score"] == pytest.approx(expected)
        shown[query] = dict(weights)
    assert 0.01 < shown["refund policy"]["vector"] < 0.99
    assert shown["xylophone"] == {"vector": 1.0, "keyword": 0.0}  # no word tells them apart
    named = app.retrieve(dataset, "refund policy", explain=True, fusion=weigh(0.4, 0.6))
    assert named["records"][0]["explain"]["weights"] == {"vector": 0.4, "keyword": 0.6}


@pytest.mark.parametrize("method", METHODS)
def test_e13_e19_no_score_below_the_threshold_in_any_mode(
    app: App, golden: str, method: str
) -> None:
    every = app.retrieve(golden, "refund policy", search_method=method)["records"]
    threshold = every[0]["score"] - 1e-3
    kept = app.retrieve([golden], "refund policy", search_method=method, score_threshold=threshold)[
        "records"
    ]
    assert 1 <= len(kept) < len(every)
    assert all(record["score"] >= threshold for record in kept)
    above = app.retrieve(golden, "refund policy", search_method=method, score_threshold=1.0)
    assert all(record["score"] >= 1 - 1e-9 for record in above["records"])


@pytest.mark.parametrize(
    ("weights", "pointer"),
    [
        ({"vector": -1, "keyword": 2}, "/fusion/weights/vector"),
        ({"vector": "0.7", "keyword": 0.3}, "/fusion/weights/vector"),
        ({"vector": True, "keyword": 0.3}, "/fusion/weights/vector"),
        ({"vector": 0.7}, "/fusion/weights/keyword"),
        ({"vector": 0, "keyword": 0}, "/fusion/weights"),
        ({"vector": None, "keyword": 1}, "/fusion/weights/vector"),
    ],
)
def test_e16_weights_that_mean_nothing_are_refused(
    app: App, golden: str, weights: Json, pointer: str
) -> None:
    modes: list[Json] = [{"search_method": method} for method in METHODS]
    for fusion in (*modes, *FUSIONS, {"method": "none"}):
        asked = {"fusion": {"weights": weights}}
        asked = (
            asked | fusion if "search_method" in fusion else {"fusion": asked["fusion"] | fusion}
        )
        answer = app.ask(golden, "x", query_vector=[1, 0], **asked)
        assert answer.status_code == 400
        assert [problem["pointer"] for problem in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    ("field", "pointer"),
    [
        ('"fusion": {"weights": {"vector": %s, "keyword": 1}}', "/fusion/weights/vector"),
        ('"fusion": {"weights": {"vector": 1, "keyword": %s}}', "/fusion/weights/keyword"),
        ('"query_vector": [%s, 1]', "/query_vector/0"),
        ('"score_threshold": %s', "/score_threshold"),
        ('"top_k": %s', "/top_k"),
    ],
)
def test_e16_numbers_that_are_not_finite_are_refused(
    app: App, golden: str, number: str, field: str, pointer: str
) -> None:
    body = f'{{"query": "x", "dataset_ids": ["{golden}"], {field % number}}}'
    answer = app.client.post("/v1/retrieve", content=body)
    assert answer.status_code == 400
    assert [problem["pointer"] for problem in answer.json()["errors"]] == [pointer]


def test_e16_weights_are_divided_by_their_sum(app: App, golden: str) -> None:
    halves = app.retrieve(golden, "refund policy", fusion=weigh(0.5, 0.5))
    doubled = app.retrieve(golden, "refund policy", fusion=weigh(0.9, 0.9))
    assert scores(halves) == scores(doubled)


def test_e18_ties_break_by_chunk_id_and_hold(app: App) -> None:
    orders = []
    for reverse in (False, True):
        dataset = app.dataset()
        documents: list[Json] = [
            {"name": str(n), "external_id": str(n), "chunks": [near("refund policy", 0.5)]}
            for n in range(8)
        ]
        app.put_all(dataset, documents[::-1] if reverse else documents)
        for method in METHODS:
            found = app.retrieve(dataset, "refund policy", search_method=method, top_k=20)
            ids = [record["chunk_id"] for record in found["records"]]
            assert len(ids) == 8
            assert ids == sorted(ids)
            five = app.retrieve(dataset, "refund policy", search_method=method, top_k=5)
            orders.append([record["chunk_id"] for record in five["records"]] == ids[:5])
    assert all(orders)


def test_changing_only_top_k_changes_no_score_and_no_order(app: App, golden: str) -> None:
    every = app.retrieve(golden, "refund policy", top_k=100)["records"]
    for top_k in (1, 2):
        assert app.retrieve(golden, "refund policy", top_k=top_k)["records"] == every[:top_k]


def test_d05_a_filter_does_not_switch_the_threshold_off(app: App) -> None:
    dataset = app.dataset()
    for name, cosine in {"a": 0.6, "b": 0.2, "c": 0.9}.items():
        app.put(dataset, name, near("alpha", cosine), metadata={"in": name != "c"})
    found = app.retrieve(
        dataset,
        "unrelated",
        metadata_filtering=where(("in", "is", True)),
        fusion=weigh(1, 0),
        score_threshold=0.5,
    )
    assert scores(found) == pytest.approx({"a": 0.6}, abs=FLOAT32)


def test_d06_top_k_counts_over_all_datasets(app: App) -> None:
    cosines = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25]
    datasets = [app.dataset() for _ in range(3)]
    for dataset, each in zip(itertools.cycle(datasets), cosines, strict=False):
        app.put(dataset, str(each), near("alpha", each))
    found = app.titles(datasets, "unrelated", top_k=4, fusion=weigh(1, 0))
    assert found == ["0.95", "0.9", "0.85", "0.8"]


def test_d03_the_filter_comes_before_the_keyword_cut(app: App) -> None:
    dataset = app.dataset()
    app.put(
        dataset, "many", *(near(f"refund policy plan {n}", 0.5) for n in range(198)),
        metadata={"g": "x"},
    )  # fmt: skip
    for name in ("few 1", "few 2"):
        app.put(dataset, name, near(f"refund {name}", 0.1), metadata={"g": "y"})
    only = {"metadata_filtering": where(("g", "is", "y"))}
    for method in METHODS:
        query = only | {"search_method": method}
        found = app.titles(dataset, "refund policy plan", top_k=2, **query)
        assert sorted(found) == ["few 1", "few 2"], method
        assert len(app.titles(dataset, "refund policy plan", top_k=1, **query)) == 1


@pytest.fixture(scope="module")
def large(app: App) -> str:
    """One document of 1,201 chunks."""
    dataset = app.dataset()
    chunks = (near(f"refund chunk{n}", math.cos(n / 800)) for n in range(1_201))
    app.put(dataset, "large", *chunks)
    return dataset


def test_i09_a_document_of_1201_chunks_is_in_both_stores(app: App, large: str) -> None:
    counted = app.scalar(
        "SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document_id"
        " WHERE d.dataset_id = :id AND c.index_version IS NOT NULL",
        id=large,
    )
    assert counted == 1_201
    for n in (0, 499, 500, 501, 999, 1_000, 1_200):
        found = app.retrieve(large, f"chunk{n}", search_method="full_text_search", top_k=1)
        assert [record["content"] for record in found["records"]] == [f"refund chunk{n}"]


def test_d10_top_k_has_a_ceiling_that_the_refusal_names(app: App, large: str) -> None:
    refused = app.ask(large, "refund", query_vector=[1, 0], top_k=600)
    assert refused.status_code == 400
    [problem] = refused.json()["errors"]
    assert problem["pointer"] == "/top_k"
    assert "100" in problem["detail"]
    for method in METHODS:
        found = app.retrieve(large, "refund", top_k=100, search_method=method)
        assert len({record["chunk_id"] for record in found["records"]}) == 100, method


def test_j03_the_text_channel_alone_fills_top_k(app: App, large: str) -> None:
    found = app.titles(large, "refund", top_k=25, search_method="full_text_search")
    assert len(found) == 25


def test_d18_the_words_of_the_answer_come_with_their_place(app: App, golden: str) -> None:
    [record] = app.retrieve(golden, "shipping times", top_k=1, **DIFY)["records"]
    assert record["content"] == "shipping times"
    assert (record["position"], record["page"], record["source"]) == (1, None, None)
    assert record["metadata"] == {}
