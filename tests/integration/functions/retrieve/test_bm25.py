"""K in its `bm25` form, through the API."""

import math
import threading
import uuid
from collections import Counter
from typing import Any

import pytest

from shared.analysis.analyzer import analyze
from tests.integration.app import App, Json, near, where
from tests.integration.watched import Watched, refuse

K1, B = 1.2, 0.75
BM25 = {"fusion": {"keyword_scoring": "bm25"}}
TEXTS = {
    "policy": ("The refund policy of annual plans", 0.40),
    "window": ("Refund window: refunds take 30 days", 0.55),
    "shipping": ("Shipping times and costs", 0.20),
    "plans": ("Plans, monthly and annual", -0.10),
}


def count_k(query: str, texts: dict[str, str]) -> dict[str, float]:
    """K of each text, naively, where these are all the texts of an index."""
    words = {name: Counter(analyze(text)) for name, text in texts.items()}
    average = sum(each.total() for each in words.values()) / len(words)

    def idf(word: str) -> float:
        holding = sum(word in each for each in words.values())
        return math.log(1 + (len(words) - holding + 0.5) / (holding + 0.5))

    def bm25(has: Counter[str]) -> float:
        damping = K1 * (1 - B + B * has.total() / average)
        return sum(idf(w) * has[w] * (K1 + 1) / (has[w] + damping) for w in analyze(query))

    most = (K1 + 1) * sum(idf(word) for word in analyze(query))
    return {name: bm25(each) / most for name, each in words.items()}


def explained(found: Json, key: str) -> dict[str, Any]:
    return {record["title"]: record["explain"][key] for record in found["records"]}


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    """Alone in its index, since word frequencies are the index's."""
    made = app.dataset(model="bm25")
    for name, (text, cosine) in TEXTS.items():
        app.put(made, name, near(text, cosine), metadata={"name": name})
    return made


@pytest.mark.parametrize(
    "query", ["refund policy", "annual refund refund", "shipping zebra", "zebra quartz"]
)
def test_k_is_bm25_as_a_share_of_the_most_that_the_query_could_score(
    app: App, dataset: str, query: str
) -> None:
    expected = count_k(query, {name: text for name, (text, _) in TEXTS.items()})
    fusion = BM25["fusion"] | {"weights": {"vector": 0.7, "keyword": 0.3}}
    found = app.retrieve(dataset, query, explain=True, fusion=fusion)
    assert explained(found, "keyword_score") == pytest.approx(expected, abs=1e-6)
    assert explained(found, "vector_score") == pytest.approx(
        {name: cosine for name, (_, cosine) in TEXTS.items()}, abs=1e-5
    )
    assert explained(found, "final_score") == pytest.approx(
        {name: 0.7 * cosine + 0.3 * expected[name] for name, (_, cosine) in TEXTS.items()}, abs=1e-5
    )


def test_it_is_the_score_of_a_full_text_search_and_of_a_keyword_search(
    app: App, dataset: str
) -> None:
    query = "the refund policy"
    hybrid = explained(app.retrieve(dataset, query, explain=True, **BM25), "keyword_score")
    for method in ("full_text_search", "keyword_search"):
        found = app.retrieve(dataset, query, search_method=method, explain=True, **BM25)
        assert len(found["records"]) >= 2
        for title, final in explained(found, "final_score").items():
            assert final == hybrid[title], method
        finals = list(explained(found, "final_score").values())
        assert finals == sorted(finals, reverse=True)


def test_an_economy_dataset_has_it_too(app: App) -> None:
    dataset = app.economy()
    app.put_text(dataset, "a.txt", "refund policy")
    app.put_text(dataset, "b.txt", "refund window, and how to ask for it")
    by_text, by_keyword = (
        app.retrieve(dataset, "refund", search_method=method, query_vector=None, **BM25)["records"]
        for method in ("full_text_search", "keyword_search")
    )
    assert [record["title"] for record in by_text] == ["a.txt", "b.txt"]
    assert by_keyword == by_text


def test_k_is_the_same_whatever_else_is_found(app: App, dataset: str) -> None:
    query = "annual refund"
    every = explained(app.retrieve(dataset, query, explain=True, **BM25), "keyword_score")
    for name in TEXTS:
        only = where(("name", "is", name))
        found = app.retrieve(dataset, query, explain=True, metadata_filtering=only, **BM25)
        assert explained(found, "keyword_score") == {name: every[name]}


def test_a_hit_of_the_vector_channel_alone_has_its_k(app: App) -> None:
    dataset = app.dataset(model="crowded")
    app.put(dataset, "many", *(near(f"refund policy {n}", 0.1) for n in range(150)))
    app.put(dataset, "near", near("refund and many other words that make it a worse one", 0.9))
    found = app.retrieve(dataset, "refund policy", explain=True, top_k=1, **BM25)
    [record] = found["records"]
    assert record["title"] == "near"
    assert set(record["explain"]["channels"]) == {"vector"}
    by_text = app.retrieve(
        dataset, "refund policy", search_method="full_text_search", explain=True,
        metadata_filtering=where(("document_name", "is", "near")),
    )  # fmt: skip
    assert record["explain"]["keyword_score"] == explained(by_text, "final_score")["near"] > 0


def test_no_kept_keyword_is_loaded(app: App, dataset: str, statements: list[str]) -> None:
    app.retrieve(dataset, "refund policy", **BM25)
    assert len(statements) == 2  # datasets and passages


def test_words_that_cannot_be_weighed_fail_the_channel_of_words(app: App, dataset: str) -> None:
    watched = Watched(app.search)
    watched.instead["sum_idf"] = refuse
    ask = app.with_search(watched).ask
    answer = ask(dataset, "refund policy", query_vector=[1, 0], explain=True, **BM25)
    assert answer.status_code == 200
    assert [each["channel"] for each in answer.json()["degraded"]] == ["text"]
    assert [r["title"] for r in answer.json()["records"]] == [
        "window", "policy", "shipping", "plans",
    ]  # fmt: skip
    assert set(explained(answer.json(), "keyword_score").values()) == {0.0}
    strict = ask(dataset, "x", query_vector=[1, 0], on_channel_failure="error", **BM25)
    assert strict.status_code == 503
    for method in ("full_text_search", "keyword_search"):
        assert ask(dataset, "refund", search_method=method, **BM25).status_code == 503


@pytest.mark.parametrize("trouble", ["fails", "hangs"])
def test_where_the_text_channel_is_in_trouble_the_others_hits_keep_their_k(
    app: App, dataset: str, trouble: str
) -> None:
    whole = app.retrieve(dataset, "refund policy", explain=True, **BM25)
    watched, over = Watched(app.search), threading.Event()
    watched.instead["search_text"] = refuse if trouble == "fails" else lambda: over.wait(20)
    answer = app.with_search(watched).ask(
        dataset, "refund policy", query_vector=[1, 0], explain=True, deadline_ms=2_000, **BM25
    )
    over.set()
    assert [each["channel"] for each in answer.json()["degraded"]] == ["text"]
    assert explained(answer.json(), "final_score") == explained(whole, "final_score")


def test_a_query_without_words_weighs_none(app: App, dataset: str) -> None:
    watched = Watched(app.search)
    found = app.with_search(watched).retrieve(dataset, "?!", explain=True, **BM25)
    assert set(explained(found, "keyword_score").values()) == {0.0}
    assert "sum_idf" not in watched.calls


def test_a_query_of_many_words_is_weighed_by_its_rarest(app: App, dataset: str) -> None:
    query = "refund policy " + " ".join(f"word{n}" for n in range(2_000))
    found = app.retrieve(dataset, query, explain=True, **BM25)
    assert found["left_out_words"] > 1_000
    scores = explained(found, "keyword_score")
    assert 0 < scores["policy"] < 1


def find(app: App, query: str, *texts: str) -> list[float]:
    """Returns K of each text in an index of these alone."""
    dataset = app.dataset(model=uuid.uuid4().hex)
    app.put_all(dataset, [{"name": str(n), "chunks": [near(t, 0.5)]} for n, t in enumerate(texts)])
    found = explained(app.retrieve(dataset, query, explain=True, **BM25), "keyword_score")
    return [found[str(n)] for n in range(len(texts))]


def test_g01_a_chinese_query_scores(app: App) -> None:
    first, second = find(app, "知识库检索", "知识库检索配置说明", "数据库备份")
    assert first > 0
    assert first > second


def test_g03_both_halves_of_a_mixed_query_count(app: App) -> None:
    both, chinese, english = find(app, "API限流", "API 限流策略", "限流说明", "api reference")
    assert both > max(chinese, english)
    assert min(chinese, english) > 0


def test_g05_japanese_without_blanks(app: App) -> None:
    forecast, temple = "東京都の天気予報を検索する", "京都の寺めぐり"
    assert find(app, "天気予報", forecast, temple)[0] > 0
    false, real = find(app, "京都の寺", forecast, temple)
    assert false < real


def test_g07_full_and_half_width(app: App) -> None:
    texts = ["the api of 2024", "カタカナ", "other"]
    assert find(app, "ＡＰＩ　２０２４", *texts) == find(app, "api 2024", *texts)
    assert find(app, "ｶﾀｶﾅ", *texts) == find(app, "カタカナ", *texts)
    assert find(app, "ｶﾀｶﾅ", *texts)[1] > 0


@pytest.mark.parametrize(
    ("identifier", "part"),
    [
        ("error-404", "error 404"),
        ("v2.5", "v2 5"),
        ("user_id", "user id"),
        ("C++", "C"),
        ("1,000", "1 000"),
        ("U.S.", "U S"),
        ("50%", "50"),
        ("A-1", "A 1"),
    ],
)
def test_g09_the_exact_identifier_beats_its_parts(app: App, identifier: str, part: str) -> None:
    exact, partial = find(app, identifier, f"about {identifier} here", f"about {part} here")
    assert exact > partial > 0


def test_g11_domain_words_are_no_stop_words(app: App) -> None:
    first, second = find(app, "保险理赔", "保险理赔流程", "理赔时效")
    assert first > second > 0


def test_g14_quotes_change_nothing(app: App) -> None:
    texts = ["the refund policy", "shipping"]
    assert find(app, '"refund" policy"', *texts) == find(app, "refund policy", *texts)


def test_g12_a_repeated_word_of_the_query_changes_no_order(app: App) -> None:
    dataset = app.dataset(model="g12")
    app.put(dataset, "often", near("refund refund refund policy", 0.5))
    app.put(dataset, "once", near("refund policy", 0.5))
    app.put(dataset, "other", near("shipping", 0.5))
    once = app.retrieve(dataset, "refund", explain=True, **BM25)
    twice = app.retrieve(dataset, "refund refund", explain=True, **BM25)
    assert [record["title"] for record in once["records"]] == ["often", "once", "other"]
    assert explained(twice, "keyword_score") == pytest.approx(explained(once, "keyword_score"))
