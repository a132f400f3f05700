"""Searches that only a real engine can get wrong: long allowlists, deleted neighbours, scores."""

import json
import uuid
from collections.abc import Sequence

import numpy as np
import pytest
from pyroaring import BitMap

from shared.errors import IndexUnavailable
from shared.model import (
    NO_VECTORS,
    AllDocuments,
    EmbeddingSpace,
    Hit,
    SearchScope,
    TheseDocuments,
)
from shared.opensearch import queries
from shared.opensearch.client import SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.mapping import alias_name, index_body, index_name
from shared.opensearch.scores import K1, cosine_from_score
from shared.opensearch.search import OpenSearchChunkSearch
from tests.fakes.build import chunk, scope, vector

LIMIT = 5.0
SPACE = EmbeddingSpace("given", "tests", 2)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]


def test_d01_an_allowlist_of_70000_documents_works_in_every_channel(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    # Every hundredth document has its chunk in the index; the answer is the last of 70,000.
    numbers = range(0, 70_000, 100)
    crowd = [chunk(f"a{n}", "common word", (0.6, 0.8), document=n) for n in numbers]
    others = [
        chunk(f"b{n}", "planted answer common", (1, 0), document=70_000 + n) for n in range(10)
    ]
    planted = chunk("planted", "planted answer common", (1, 0), document=69_999)
    index.upsert(SPACE, [*crowd, *others, planted])
    index.refresh(SPACE)

    first = SearchScope("t", SPACE, [("d", TheseDocuments(BitMap(range(70_000))))], hidden=BitMap())
    words = ["planted", "answer", "common"]
    assert search.search_vector(first, vector(1, 0), 3, LIMIT)[0].chunk_id == "planted"
    assert search.search_text(first, words, 3, LIMIT)[0].chunk_id == "planted"
    assert search.search_keywords(first, words, 3, LIMIT)[0].chunk_id == "planted"
    assert len(search.search_text(first, words, 1000, LIMIT)) == len(numbers) + 1

    second = SearchScope(
        "t", SPACE, [("d", TheseDocuments(BitMap(range(70_000, 70_010))))], hidden=BitMap()
    )
    expected = {known.id for known in others}
    assert set(ids(search.search_vector(second, vector(1, 0), 100, LIMIT))) == expected
    assert set(ids(search.search_text(second, words, 100, LIMIT))) == expected
    assert set(ids(search.search_keywords(second, words, 100, LIMIT))) == expected


@pytest.mark.parametrize(
    "allowed",
    [
        BitMap([1]),
        BitMap(range(0, 1_000_000, 2)) | BitMap([1]),  # dense: bitset containers
        BitMap(range(1, 1_000_000)),  # runs
        BitMap([1, 70_000, 2**31 - 1]),
    ],
    ids=["one", "half a million", "a million", "the largest number"],
)
def test_bitmaps_of_every_kind_are_read_by_the_engine(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch, allowed: BitMap
) -> None:
    index.upsert(
        NO_VECTORS, [chunk("in", "word", document=1), chunk("out", "word", document=1_000_001)]
    )
    index.refresh(NO_VECTORS)
    wanted = SearchScope("t", NO_VECTORS, [("d", TheseDocuments(allowed))], hidden=BitMap())
    assert ids(search.search_text(wanted, ["word"], 9, LIMIT)) == ["in"]
    without = SearchScope("t", NO_VECTORS, [("d", AllDocuments())], hidden=allowed)
    assert ids(search.search_text(without, ["word"], 9, LIMIT)) == ["out"]


def test_300_hidden_neighbours_leave_the_five_far_ones_to_every_channel(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    near = [chunk(f"n{n}", "refund policy refund", (1, n / 1e4), document=n) for n in range(300)]
    far = [chunk(f"f{n}", "a policy", (-1, n / 1e4), document=400 + n) for n in range(5)]
    index.upsert(SPACE, [*near, *far])
    index.refresh(SPACE)
    wanted = scope(SPACE, hidden=range(300))
    left = {known.id for known in far}
    assert set(ids(search.search_vector(wanted, vector(1, 0), 5, LIMIT))) == left
    assert set(ids(search.search_text(wanted, ["refund", "policy"], 5, LIMIT))) == left
    assert set(ids(search.search_keywords(wanted, ["refund", "policy"], 5, LIMIT))) == left


def test_i11_deleted_neighbours_take_no_place(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    for part in range(4):  # a segment each
        index.upsert(SPACE, [chunk(f"n{part}-{n}", "near", (1, n / 1e4)) for n in range(25)])
        index.refresh(SPACE)
    index.upsert(SPACE, [chunk(f"f{n}", "far", (-1, n / 1e4)) for n in range(5)])
    index.delete(SPACE, [f"n{part}-{n}" for part in range(4) for n in range(25)], 2)
    index.refresh(SPACE)
    found = search.search_vector(scope(SPACE), vector(1, 0), 5, LIMIT)
    assert set(ids(found)) == {f"f{n}" for n in range(5)}


def test_j03_the_text_channel_gives_as_many_hits_as_are_asked_for(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    index.upsert(NO_VECTORS, [chunk(f"c{n:02}", "refund") for n in reversed(range(40))])
    index.refresh(NO_VECTORS)
    found = search.search_text(scope(NO_VECTORS), ["refund"], 25, LIMIT)
    assert ids(found) == [f"c{n:02}" for n in range(25)]
    assert len(search.search_text(scope(NO_VECTORS), ["refund"], 100, LIMIT)) == 40


@pytest.mark.parametrize("space_type", ["cosinesimil", "l2"])
def test_j05_a_score_becomes_the_cosine_whatever_space_the_index_declares(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str, space_type: str
) -> None:
    alias = alias_name(index_prefix, SPACE)
    body = index_body(alias, SPACE, shards=1, replicas=0)
    body["mappings"]["properties"]["vector"]["method"]["space_type"] = space_type
    engine.request("PUT", f"/{index_name(alias)}", body=json.dumps(body))
    cosines = {"first": 0.7, "second": 0.6, "third": 0.5}
    index.upsert(SPACE, [chunk(name, "", (c, (1 - c * c) ** 0.5)) for name, c in cosines.items()])
    index.refresh(SPACE)

    query = json.dumps(queries.vector_body(scope(SPACE), vector(1, 0), 9))
    answer = engine.request("POST", f"/{alias}/_search", body=query)
    found = {
        hit["sort"][1]: cosine_from_score(space_type, hit["_score"])
        for hit in answer["hits"]["hits"]
    }
    assert found == pytest.approx(cosines, abs=1e-6)


def test_j05_a_cosine_of_exactly_the_threshold_reaches_it(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    # float32 lies to either side of two decimals; what the adapter gives does not.
    cosines = [n / 100 for n in range(1, 100)]
    index.upsert(SPACE, [chunk(f"{c:.2f}", "word", (c, (1 - c * c) ** 0.5)) for c in cosines])
    index.refresh(SPACE)
    expected = {f"{c:.2f}": c for c in cosines}
    wanted, query = scope(SPACE), vector(1, 0)
    by_vector = search.search_vector(wanted, query, 100, LIMIT)
    by_text = search.search_text(wanted, ["word"], 100, LIMIT, query)
    assert {hit.chunk_id: hit.score for hit in by_vector} == expected
    assert {hit.chunk_id: hit.cosine for hit in by_text} == expected
    assert search.find_cosines(wanted, list(expected), query, LIMIT) == expected


@pytest.mark.parametrize("depth", [3, 100, 1000])
def test_thousands_of_copies_do_not_hide_what_is_nearer(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch, depth: int
) -> None:
    copies = [chunk(f"a{n:04}", "", (0.6, 0.8), document=n) for n in range(3000)]
    nearer = [chunk(f"b{n}", "", (1, n / 100)) for n in range(3)]
    index.upsert(SPACE, [*copies, *nearer])
    index.refresh(SPACE)
    found = search.search_vector(scope(SPACE), vector(1, 0), depth, LIMIT)
    assert ids(found) == ["b0", "b1", "b2", *(f"a{n:04}" for n in range(depth - 3))]


def test_bm25_never_passes_its_bound_and_comes_near_it(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    random = np.random.default_rng(7)
    texts = [random.choice(40, size=int(random.integers(1, 60))) for _ in range(300)]
    crowd = [chunk(f"c{n}", " ".join(f"w{word}" for word in text)) for n, text in enumerate(texts)]
    index.upsert(NO_VECTORS, [*crowd, chunk("full", "only " * 5000)])
    index.refresh(NO_VECTORS)
    for _ in range(20):
        words = [f"w{word}" for word in random.choice(45, size=int(random.integers(1, 9)))]
        bound = (K1 + 1) * search.sum_idf(NO_VECTORS, words, LIMIT)
        found = search.search_text(scope(NO_VECTORS), words, 1000, LIMIT)
        assert all(hit.score is not None and 0 < hit.score / bound < 1 for hit in found)
    bound = (K1 + 1) * search.sum_idf(NO_VECTORS, ["only"], LIMIT)
    (full,) = search.search_text(scope(NO_VECTORS), ["only"], 9, LIMIT)
    assert full.score is not None
    assert 0.95 < full.score / bound < 1


def test_more_than_512_words_are_ranked_and_then_searched(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    common = [f"w{n}" for n in range(1500)]
    index.upsert(
        NO_VECTORS, [chunk("rare", "needle w1"), *(chunk(f"c{n}", " ".join(common)) for n in "abc")]
    )
    index.refresh(NO_VECTORS)
    strange = [f"nobody has {n}".replace(" ", "-") for n in range(600)]
    kept = search.pick_rarest(NO_VECTORS, [*common, *strange, "needle"], 512, LIMIT)
    assert len(kept) == 512
    assert kept[:2] == ["needle", "w0"]
    found = search.search_text(scope(NO_VECTORS), kept, 9, LIMIT)
    assert set(ids(found)) == {"rare", "ca", "cb", "cc"}


def test_two_runs_over_several_shards_give_the_same_order(
    engine: SearchEngine, index_prefix: str, search: OpenSearchChunkSearch
) -> None:
    space = EmbeddingSpace("given", uuid.uuid4().hex, 8)
    index = OpenSearchChunkIndex(engine, index_prefix, shards=3)
    random = np.random.default_rng(3)
    index.upsert(
        space,
        [chunk(f"c{n:03}", "same words", random.normal(size=8).tolist()) for n in range(300)],
    )
    index.refresh(space)
    query = vector(*random.normal(size=8))
    by_vector = search.search_vector(scope(space), query, 100, LIMIT)
    assert by_vector == search.search_vector(scope(space), query, 100, LIMIT)
    assert len(by_vector) == 100
    by_text = search.search_text(scope(space), ["same"], 100, LIMIT)
    assert by_text == search.search_text(scope(space), ["same"], 100, LIMIT)
    counted = {search.sum_idf(space, ["same"], LIMIT) for _ in range(5)}
    assert len(counted) == 1


def test_a_deadline_that_has_passed_is_an_error_of_ours(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    index.ensure(NO_VECTORS)
    for timeout in (0, -1, 1e-6):
        with pytest.raises(IndexUnavailable, match="in time"):
            search.search_text(scope(NO_VECTORS), ["word"], 9, timeout)


def test_what_the_engine_refuses_is_an_error_of_ours(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    index.ensure(SPACE)
    with pytest.raises(IndexUnavailable, match=r"400"):
        search.search_vector(scope(SPACE), vector(1, 0, 0), 9, LIMIT)
