import math
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.fusion.keywords import (
    LONGEST_KEYWORD,
    dify_keywords,
    dify_scores,
    pack_keywords,
)
from tests.unit.shared.analysis.oracle import load_jieba

GOLDEN: list[tuple[str, dict[str, float]]] = [
    (
        "refund policy",
        {
            "refund policy refund policy": 1.0,
            "refund policy for annual plans": 0.605349,
            "shipping times": 0.0,
        },
    ),
    ("API limits", {"api limits per minute": 0.259909, "API limits per minute": 0.773315}),
    (
        "refund zebra quartz violet",
        {"refund": 1.0, "refund window details overview": 0.379978},
    ),
    ("知识库检索", {"知识库检索配置说明": 0.707107, "数据库备份": 0.0}),
    ("refund policy", {"refund policy annual plans": 0.707107}),
    ("v2.5 release", {"release notes v2.5": 0.925272, "release notes v2": 0.473355}),
    ("保险理赔", {"保险理赔流程": 0.775240, "理赔时效": 0.336097}),
]
WORD_SETS = st.frozensets(st.sampled_from("abcdefghijkl"), max_size=8)
PIECES = st.sampled_from([*"aBz01._%+#-& \n知识库检索的保险理赔カ", "The", "not", "v2.5", "AT&T"])
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@pytest.mark.parametrize(("query", "expected"), GOLDEN)
def test_golden_figures(query: str, expected: dict[str, float]) -> None:
    scores = score(dify_keywords(query), [dify_keywords(text) for text in expected])
    assert scores.tolist() == pytest.approx(list(expected.values()), abs=1e-6)


def score(query: Collection[str], candidates: Sequence[Collection[str]]) -> NDArray[np.float64]:
    return dify_scores(query, [pack_keywords(candidate) for candidate in candidates])


def score_naively(query: frozenset[str], candidates: Sequence[frozenset[str]]) -> list[float]:
    n = len(candidates)
    idf = {
        word: math.log((1 + n) / (1 + sum(word in other for other in candidates))) + 1
        for word in frozenset().union(*candidates)
    }

    def cosine(candidate: frozenset[str]) -> float:
        dot = sum(idf[word] ** 2 for word in query & candidate)
        norms = [sum(idf.get(word, 0) ** 2 for word in words) for words in (query, candidate)]
        return dot / math.sqrt(math.prod(norms)) if dot else 0.0

    return [cosine(candidate) for candidate in candidates]


@given(WORD_SETS, st.lists(WORD_SETS, max_size=8))
def test_agrees_with_the_cosine_written_out(
    query: frozenset[str], candidates: list[frozenset[str]]
) -> None:
    scores = score(query, candidates)
    assert scores.tolist() == pytest.approx(score_naively(query, candidates), abs=1e-12)
    assert all(0 <= score <= 1 for score in scores)


@given(st.data(), WORD_SETS, st.lists(WORD_SETS, min_size=1, max_size=8))
def test_candidates_score_the_same_in_any_order(
    data: st.DataObject, query: frozenset[str], candidates: list[frozenset[str]]
) -> None:
    order = data.draw(st.permutations(range(len(candidates))))
    shuffled = [sorted(candidates[i], reverse=True) for i in order]
    np.testing.assert_array_equal(score(query, shuffled), score(query, candidates)[order])


@pytest.fixture(scope="module")
def jieba_tags() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba.analyse leaves a file open
        from jieba.analyse import TFIDF

        extractor = TFIDF()
    extractor.tokenizer = load_jieba()
    return extractor


@settings(deadline=None)
@given(text=TEXTS)
def test_keywords_are_the_tags_of_jieba_and_their_parts(jieba_tags: Any, text: str) -> None:
    tags = set(jieba_tags.extract_tags(text, topK=None))
    found = dify_keywords(text)
    assert {tag[:LONGEST_KEYWORD] for tag in tags} <= found
    for part in found - tags:
        assert any(part in tag for tag in tags)
        assert part not in jieba_tags.stop_words


def test_keywords_keep_their_case_and_lose_stop_words_of_any_case() -> None:
    assert dify_keywords("The API and the api") == {"API", "api"}
    assert dify_keywords("v2.5 x") == {"v2.5", "v2", "5"}


def test_g01_chinese_scores() -> None:
    texts = ["知识库检索配置说明", "数据库备份"]
    first, second = score(dify_keywords("知识库检索"), [dify_keywords(t) for t in texts])
    assert first > 0
    assert first > second


@pytest.mark.parametrize("text", ["", " \t\n", "?!, 。", "的", "\ud800\x00", "🚀 \u202e"])
def test_g14_nothing_to_say(text: str) -> None:
    assert dify_keywords(text) == frozenset()


def test_long_keywords_are_cut() -> None:
    assert dify_keywords("x" * 300) == {"x" * 128}


def test_keywords_are_kept_as_eight_bytes_each_in_an_order_of_their_own() -> None:
    keywords = dify_keywords("API limits v2.5 知识库检索 %s end")
    assert pack_keywords(keywords) == pack_keywords(sorted(keywords, reverse=True))
    assert len(pack_keywords(keywords)) == 8 * len(keywords)
    # What is stored must mean the same for ever: this is BLAKE2b of "API", eight bytes of it.
    assert pack_keywords(["API"]).hex() == "86dbd61477d82b05"
    assert pack_keywords([]) == b""


def test_no_candidates_and_candidates_without_keywords() -> None:
    assert score({"a"}, []).shape == (0,)
    assert score({"a"}, [[], []]).tolist() == [0, 0]
    assert score({"a"}, [["a"], []]).tolist() == [1, 0]
    assert score(set(), [["a"], ["b"]]).tolist() == [0, 0]
    assert score({"z"}, [["a"], ["b"]]).tolist() == [0, 0]
