"""The analyzer through both its uses, ingest and query: K of full-text search on the real engine.

A dataset holds one document a text, in an index of its own, as words count by how rare they are.
"""

import uuid

import pytest

from tests.integration.app import App, near


def score(app: App, *queries: str, texts: list[str]) -> list[list[float]]:
    """Returns for each query the score of each text, 0.0 where it was not found."""
    dataset = app.dataset(model=uuid.uuid4().hex)
    documents = [{"name": text, "chunks": [near(text, 0.5)]} for text in texts]
    app.put_all(dataset, documents)
    scores = []
    for query in queries:
        found = app.retrieve(dataset, query, search_method="full_text_search", top_k=100)
        by_title = {record["title"]: record["score"] for record in found["records"]}
        assert all(0 < each <= 1 for each in by_title.values())
        scores.append([by_title.get(text, 0.0) for text in texts])
    return scores


def test_g03_both_halves_of_a_mixed_query_count(app: App) -> None:
    texts = ["API 限流策略", "限流说明", "api reference"]
    [[both, chinese, english]] = score(app, "API限流", texts=texts)
    assert both > max(chinese, english)
    assert min(chinese, english) > 0


def test_g05_japanese_without_blanks(app: App) -> None:
    texts = ["東京都の天気予報を検索する", "京都の寺めぐり"]
    [[forecast, _], [false, real]] = score(app, "天気予報", "京都の寺", texts=texts)
    assert forecast > 0
    assert false < real


def test_g07_full_and_half_width(app: App) -> None:
    texts = ["the API of 2024", "ＡＰＩ ２０２３", "カタカナ表記", "ﾋﾗｶﾞﾅ"]
    wide, narrow = score(app, "ＡＰＩ　２０２４", "api 2024", texts=texts)
    assert wide == narrow
    assert wide[0] > wide[1] > 0
    half, full = score(app, "ｶﾀｶﾅ", "カタカナ", texts=texts)
    assert half == full
    assert half[2] > 0


@pytest.mark.parametrize(
    ("identifier", "part"),
    [
        ("error-404", "error 404"),
        ("v2.5", "v2"),
        ("user_id", "user id"),
        ("C++", "C"),
        ("1,000", "1 000"),
        ("U.S.", "U"),
        ("50%", "50"),
        ("A-1", "A 1"),
    ],
)
def test_g09_the_exact_identifier_beats_its_parts(app: App, identifier: str, part: str) -> None:
    texts = [f"about {identifier} here", f"about {part} here"]
    [[exact, partial]] = score(app, identifier, texts=texts)
    assert exact > partial > 0


def test_g11_domain_words_are_no_stop_words(app: App) -> None:
    [[first, second]] = score(app, "保险理赔", texts=["保险理赔流程", "理赔时效"])
    assert first > second > 0


def test_g12_repetition_counts_in_a_text_and_changes_nothing_in_a_query(app: App) -> None:
    texts = ["refund refund refund policy", "refund policy"]
    once, twice = score(app, "refund", "refund refund", texts=texts)
    assert once[0] > once[1]
    assert twice == pytest.approx(once)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("REFUNDING", "the refunded policies"),
        ("creme brulee", "Crème BRÛLÉE"),
        ("ελλαδα", "ΕΛΛΆΔΑ"),
        ("Tieng Viet", "Tiếng Việt"),
        ("здравствуй", "ЗДРАВСТВУЙ"),
        ("हिन्दी", "हिन्दी भाषा"),
        ("검색", "검색을 위한 책"),
        ("カタ", "カタカナ"),
        ("識庫", "知識庫"),
        ("straße", "STRASSE"),
    ],
)
def test_a_query_finds_the_same_word_in_another_spelling(app: App, query: str, text: str) -> None:
    [[found, other]] = score(app, query, texts=[text, "something else"])
    assert found > other == 0.0


@pytest.mark.parametrize(
    ("query", "text"),
    [("カ", "ガ"), ("и", "й"), ("е", "ё"), ("はは", "ぱぱ"), ("not", "a refund"), ("不", "退款")],
)
def test_a_query_finds_no_other_word(app: App, query: str, text: str) -> None:
    assert score(app, query, texts=[text, "something else"]) == [[0.0, 0.0]]
