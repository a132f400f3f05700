import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import IndexUnavailable
from shared.model import Hit
from shared.opensearch import answers


def answer(*hits: dict[str, Any]) -> dict[str, Any]:
    return {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": list(hits)}}


def hit(chunk_id: str, score: Any, **more: Any) -> dict[str, Any]:
    return {"_score": score, "sort": [score, chunk_id], **more}


def read_vectors(given_answer: dict[str, Any]) -> list[Hit]:
    return answers.read_vector_hits(given_answer, "cosinesimil")


READERS: list[Callable[[dict[str, Any]], object]] = [
    answers.read_hits,
    answers.read_cosines,
    read_vectors,
]


def test_vector_hits_carry_the_cosine_and_ties_break_by_chunk_id() -> None:
    found = answers.read_vector_hits(
        answer(hit("a", 1.0), hit("c", 0.80000003), hit("b", 0.8)), "cosinesimil"
    )
    assert found == [Hit("a", 1.0, 1.0), Hit("b", 0.6, 0.6), Hit("c", 0.6, 0.6)]


def test_text_hits_carry_the_cosine_where_there_is_one() -> None:
    found = answers.read_hits(
        answer(
            hit("a", 2.5, fields={"cosine": [0.59999996]}), hit("b", 1, fields={"cosine": [None]})
        )
    )
    assert found == [Hit("a", 2.5, 0.6), Hit("b", 1.0, None)]


def test_a_chunk_id_is_read_from_its_column_where_nothing_was_sorted() -> None:
    columns = [
        {"_score": 1.0, "fields": {"chunk": [name], "cosine": [cosine]}}
        for name, cosine in [("c", 0.5), ("b", None)]
    ]
    found = answers.read_hits(answer({"_score": 2.0, "fields": {"chunk": ["d"]}}, *columns))
    assert found == [Hit("d", 2.0), Hit("b", 1.0), Hit("c", 1.0, 0.5)]


def test_a_tie_that_may_go_on_behind_the_last_hit_is_seen() -> None:
    hits = [Hit("a", 3.0), Hit("b", 2.0), Hit("c", 2.0)]
    assert not answers.ties_beyond(hits, 1, size=3)
    assert answers.ties_beyond(hits, 2, size=3)


def test_a_tie_within_what_came_is_none_beyond() -> None:
    hits = [Hit("a", 3.0), Hit("b", 3.0), Hit("c", 2.0)]
    assert not answers.ties_beyond(hits, 1, size=3)
    assert not answers.ties_beyond(hits[:2], 1, size=3)


def test_hits_carry_the_bm25_that_they_bring_along() -> None:
    brought = answer(hit("a", 0.9, matched_queries={"bm25": 14.5}), hit("b", 0.8))
    assert answers.read_vector_hits(brought, "cosinesimil") == [
        Hit("a", 0.8, 0.8, 14.5),
        Hit("b", 0.6, 0.6),
    ]
    assert [found.bm25 for found in answers.read_hits(brought)] == [14.5, None]


def test_a_null_score_stays_unknown() -> None:
    assert answers.read_hits(answer(hit("a", None))) == [Hit("a", None)]
    found = answers.read_vector_hits(answer(hit("a", None), hit("b", 0.8)), "cosinesimil")
    assert found == [Hit("b", 0.6, 0.6), Hit("a", None)]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"error": "busy"},
        {"timed_out": False, "hits": {"hits": []}},
        {"timed_out": False, "_shards": {"failed": 0}, "hits": []},
        answer() | {"timed_out": True},
        answer() | {"_shards": {"failed": 1}},
        answer() | {"hits": None},
        answer({"_score": 1.0}),
        answer({"sort": [1.0, "a"]}),
        answer({"_score": 1.0, "sort": [1.0]}),
        answer({"_score": 1.0, "sort": [1.0, None]}),
        answer(hit("a", "0.5")),
        answer(hit("a", float("nan"))),
        answer(hit("a", 1.0, fields={"cosine": []})),
        answer(hit("a", 1.0, matched_queries=["bm25"])),
        answer(hit("a", 1.0, matched_queries={"bm25": "much"})),
        answer(None),  # type: ignore[arg-type]
    ],
)
def test_half_an_answer_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(IndexUnavailable):
        answers.read_hits(wrong)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.data())
def test_whatever_stands_where_nothing_fits_is_never_another_error(data: st.DataObject) -> None:
    whole = answer(hit("a", 0.5, fields={"cosine": [0.25]}), hit("b", 0.4))
    spoiled: Any = copy.deepcopy(whole)
    part, key = data.draw(
        st.sampled_from(
            [
                (spoiled, "timed_out"),
                (spoiled, "_shards"),
                (spoiled, "hits"),
                (spoiled["hits"], "hits"),
                (spoiled["hits"]["hits"], 0),
                (spoiled["hits"]["hits"][0], "_score"),
                (spoiled["hits"]["hits"][0], "sort"),
                (spoiled["hits"]["hits"][0], "fields"),
            ]
        )
    )
    part[key] = data.draw(JSON)
    for read in READERS:
        try:
            read(spoiled)
        except IndexUnavailable:
            continue


def test_word_counts_leave_out_what_no_chunk_holds() -> None:
    text = {
        "field_statistics": {"doc_count": 6},
        "terms": {"a": {"doc_freq": 3, "term_freq": 2}, "zz": {"term_freq": 1}},
    }
    counts = answers.read_word_counts({"term_vectors": {"text": text}})
    assert (counts.chunks, counts.holding) == (6, {"a": 3, "zz": 0})
    assert answers.read_word_counts({"term_vectors": {}}).chunks == 0


@pytest.mark.parametrize(
    ("scores", "depth", "crowded"),
    [
        ([], 100, False),
        ([0.5], 1, False),
        ([0.5, 0.5], 2, True),
        ([0.9, 0.8, 0.7], 3, False),
        ([n / 100 for n in range(91)] + [0.5] * 8, 100, False),
        ([n / 100 for n in range(91)] + [0.5] * 9, 100, True),
    ],
)
def test_many_ties_are_a_crowd(scores: list[float], depth: int, crowded: bool) -> None:
    hits = [Hit(str(n), score, score) for n, score in enumerate(scores)]
    assert answers.is_crowded(hits, depth) is crowded
