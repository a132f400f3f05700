import base64
from collections.abc import Collection
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from shared.model import NO_VECTORS, AllDocuments, EmbeddingSpace, SearchScope, TheseDocuments
from shared.opensearch import queries
from tests.fakes.build import scope, these, vector

SPACE = EmbeddingSpace("given", "m", 2)
NUMBERS = st.frozensets(st.integers(0, 2**28 - 1), min_size=1, max_size=30)
NAMES = ["a", "b", "c", "d", "e", "z"]
"""Datasets; of each the documents' numbers are its own."""


def passes(query: dict[str, Any], chunk: dict[str, Any]) -> bool:
    """A naive reading of the query language, as far as the filter uses it."""
    match query:
        case {"bool": parts}:
            should = parts.get("should", [])
            return (
                all(passes(part, chunk) for part in parts.get("filter", []))
                and not any(passes(part, chunk) for part in parts.get("must_not", []))
                and (not should or any(passes(part, chunk) for part in should))
            )
        case {"term": wanted}:
            return all(chunk[field] == value for field, value in dict(wanted).items())
        case {"terms": {"document": [packed], "value_type": "bitmap"}}:
            return chunk["document"] in BitMap.deserialize(base64.b64decode(packed))
        case {"terms": wanted}:
            return all(chunk[field] in values for field, values in dict(wanted).items())
        case _:
            raise AssertionError(query)


@given(
    st.dictionaries(st.sampled_from(NAMES[:5]), st.none() | NUMBERS, min_size=1, max_size=5),
    st.frozensets(st.integers(0, 240), max_size=5),
    st.data(),
)
def test_exactly_the_chunks_of_the_scope_pass(
    listed: dict[str, frozenset[int] | None], hidden: frozenset[int], data: st.DataObject
) -> None:
    datasets = {
        name: None if numbers is None else {n * len(NAMES) + NAMES.index(name) for n in numbers}
        for name, numbers in listed.items()
    }
    wanted = SearchScope(
        "t",
        SPACE,
        [
            (name, AllDocuments() if seqs is None else TheseDocuments(BitMap(seqs)))
            for name, seqs in datasets.items()
        ],
        BitMap(hidden),
    )
    known = sorted(set().union(hidden, *(seqs or () for seqs in datasets.values()), range(6)))
    document = data.draw(st.sampled_from(known))
    chunk: dict[str, Any] = {
        "tenant": data.draw(st.sampled_from(["t", "u"])),
        "dataset": NAMES[document % len(NAMES)],
        "document": document,
    }
    allowed: Collection[int] | None = datasets.get(chunk["dataset"], frozenset())
    expected = (
        chunk["tenant"] == "t"
        and (allowed is None or chunk["document"] in allowed)
        and chunk["document"] not in hidden
    )
    assert passes(queries.filter_scope(wanted), chunk) is expected


def test_allowlists_of_datasets_that_grew_together_are_one_bitmap() -> None:
    even, odd = BitMap(range(0, 200_000, 2)), BitMap(range(1, 200_000, 2))
    wanted = scope(SPACE, ("d", TheseDocuments(even)), ("e", TheseDocuments(odd)))
    assert str(queries.filter_scope(wanted)).count("bitmap") == 1
    assert len(str(queries.filter_scope(wanted))) < 1_000


def test_a_scope_of_no_dataset_finds_nothing() -> None:
    empty = SearchScope("t", SPACE, [], BitMap())
    chunk = {"tenant": "t", "dataset": "d", "document": 1}
    assert not passes(queries.filter_scope(empty), chunk)


def test_nothing_hidden_sends_no_exclusion() -> None:
    assert "must_not" not in queries.filter_scope(scope(SPACE))["bool"]


def any_of(body: queries.Body) -> list[queries.Body]:
    """Returns the clauses of which any must match."""
    [must] = body["query"]["bool"]["must"]
    clauses: list[queries.Body] = must["bool"]["should"]
    return clauses


def test_every_channel_filters_before_its_cut() -> None:
    wanted = scope(SPACE, ("d", these(1, 2)), hidden=[3])
    bound = queries.filter_scope(wanted)
    by_vector = queries.vector_body(wanted, vector(1, 0), 7)
    assert by_vector["query"]["knn"]["vector"]["filter"] == bound
    assert by_vector["query"]["knn"]["vector"]["k"] == by_vector["size"] == 7
    exact = queries.exact_vector_body(wanted, vector(1, 0), 7)
    by_keyword = queries.keyword_body(wanted, ["word"], 7)
    assert exact["query"]["script_score"]["query"] == bound
    for brought in (
        queries.vector_body(wanted, vector(1, 0), 7, ["word"]),
        queries.exact_vector_body(wanted, vector(1, 0), 7, ["word"]),
        queries.keyword_body(wanted, ["word"], 7, ["word"]),
    ):
        # What brings BM25 along finds nothing by itself: all that is found is what must match.
        [must] = brought["query"]["bool"]["must"]
        [should] = brought["query"]["bool"]["should"]
        assert must in (by_vector["query"], exact["query"], by_keyword["query"])
        assert should["constant_score"]["boost"] == 0
    for body in (queries.text_body(wanted, ["word"], 7), by_keyword):
        assert bound["bool"].items() <= body["query"]["bool"].items()
        assert len(any_of(body)) == 1
        assert body["size"] == 7


def test_repeated_words_count_as_often_as_they_stand_there() -> None:
    body = queries.text_body(scope(NO_VECTORS), ["a", "b", "a", "c"], 9)
    assert [clause["match"]["text"] for clause in any_of(body)] == [
        {"query": "a", "boost": 2},
        {"query": "b", "boost": 1},
        {"query": "c", "boost": 1},
    ]


def test_hits_bring_along_what_a_text_search_scores() -> None:
    words, wanted = ["a", "b", "a"], scope(SPACE)
    body = queries.vector_body(wanted, vector(1, 0), 9, words)
    named = body["query"]["bool"]["should"][0]["constant_score"]["filter"]["bool"]
    assert named["_name"] == queries.BM25
    assert named["should"] == any_of(queries.text_body(wanted, words, 9))


def test_a_repeated_keyword_counts_once() -> None:
    body = queries.keyword_body(scope(NO_VECTORS), ["a", "b", "a"], 9)
    assert any_of(body) == [
        {"term": {"keywords": "a"}},
        {"term": {"keywords": "b"}},
    ]


def test_no_hit_brings_more_than_its_id_and_score() -> None:
    for body in (
        queries.vector_body(scope(SPACE), vector(1, 0), 9),
        queries.text_body(scope(SPACE), ["a"], 9, vector(1, 0)),
        queries.ordered_text_body(scope(SPACE), ["a"], 9, vector(1, 0)),
        queries.keyword_body(scope(SPACE), ["a"], 9),
        queries.cosines_body(scope(SPACE), ["c"], vector(1, 0)),
    ):
        assert body["_source"] is False
        assert body["stored_fields"] == "_none_"
        assert body.get("docvalue_fields") == ["chunk"] or body["sort"][1] == {"chunk": "asc"}
