"""What every `ChunkSearch` does."""

import math
import uuid
from collections.abc import Callable, Sequence

import pytest

from shared.errors import IndexUnavailable
from shared.model import AllDocuments, EmbeddingSpace, Hit, SearchScope
from tests.contract.chunks.conftest import Chunks
from tests.fakes.build import chunk, scope, these, vector

LIMIT = 5.0
EAST = vector(1, 0, 0)

# Words, vector, and what else sets it apart. Three identical ones, and one of another tenant's.
CORPUS = [
    chunk("a1", "refund policy refund", (1, 0, 0)),
    chunk("a2", "refund window", (0.8, 0.6, 0), document=2),
    chunk("a3", "shipping times and window", (0.6, 0.8, 0), document=3),
    chunk("b1", "annual plans", (0, 1, 0), document=4, dataset="e"),
    chunk("b2", "policy zebra", (-1, 0, 0), document=5, dataset="e"),
    chunk("c3", "twin", (0, 0, 1), document=6),
    chunk("c1", "twin", (0, 0, 1), document=6),
    chunk("c2", "twin", (0, 0, 1), document=7),
    chunk("z1", "refund policy", (1, 0, 0), tenant="other"),
]
BOTH = (("d", AllDocuments()), ("e", AllDocuments()))


@pytest.fixture(scope="module")
def space(chunks: Chunks) -> EmbeddingSpace:
    space = EmbeddingSpace("given", uuid.uuid4().hex, 3)
    chunks.index.ensure(space)
    chunks.index.upsert(space, CORPUS)
    chunks.index.refresh(space)
    return space


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]


def by_every_channel(chunks: Chunks, wanted: SearchScope, depth: int = 100) -> list[set[str]]:
    words = [word for known in CORPUS for word in known.keywords]
    return [
        set(ids(chunks.search.search_vector(wanted, EAST, depth, LIMIT))),
        set(ids(chunks.search.search_text(wanted, words, depth, LIMIT))),
        set(ids(chunks.search.search_keywords(wanted, words, depth, LIMIT))),
        set(chunks.search.find_cosines(wanted, [known.id for known in CORPUS], EAST, LIMIT)),
    ]


def test_vector_hits_come_nearest_first_with_their_true_cosine(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    found = chunks.search.search_vector(scope(space, *BOTH), EAST, 3, LIMIT)
    assert found == [Hit("a1", 1.0, 1.0), Hit("a2", 0.8, 0.8), Hit("a3", 0.6, 0.6)]


def test_a_cosine_does_not_depend_on_the_length_of_the_query(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    found = chunks.search.search_vector(scope(space, *BOTH), vector(-5, 0, 0), 1, LIMIT)
    assert found == [Hit("b2", 1.0, 1.0)]


def test_ties_break_by_chunk_id(chunks: Chunks, space: EmbeddingSpace) -> None:
    up, wanted = vector(0, 0, 1), scope(space)
    assert ids(chunks.search.search_vector(wanted, up, 6, LIMIT))[:3] == ["c1", "c2", "c3"]
    assert ids(chunks.search.search_text(wanted, ["twin"], 2, LIMIT)) == ["c1", "c2"]
    assert ids(chunks.search.search_keywords(wanted, ["twin"], 2, LIMIT)) == ["c1", "c2"]


@pytest.mark.parametrize(
    "words", [["refund"], ["refund", "window"], ["refund", "refund", "policy", "unknown"]]
)
def test_text_hits_come_in_the_order_of_bm25_and_carry_it(
    chunks: Chunks, space: EmbeddingSpace, words: list[str]
) -> None:
    texts = {known.id: known.words.split() for known in CORPUS}
    average = sum(map(len, texts.values())) / len(texts)

    def bm25(tokens: list[str]) -> float:
        total = 0.0
        for word in words:
            holding = sum(word in text for text in texts.values())
            idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            times = tokens.count(word)
            total += idf * 2.2 * times / (times + 1.2 * (0.25 + 0.75 * len(tokens) / average))
        return total

    expected = {
        known.id: bm25(texts[known.id])
        for known in CORPUS
        if known.tenant_id == "t" and set(words) & set(known.keywords)
    }
    found = chunks.search.search_text(scope(space, *BOTH), words, 100, LIMIT)
    assert {hit.chunk_id: hit.score for hit in found} == pytest.approx(expected, rel=1e-5)
    assert ids(found) == sorted(expected, key=lambda key: (-expected[key], key))


def test_text_hits_bring_their_cosine_when_there_is_a_vector(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    wanted = scope(space, *BOTH)
    with_cosines = chunks.search.search_text(wanted, ["policy", "window"], 100, LIMIT, EAST)
    without = chunks.search.search_text(wanted, ["policy", "window"], 100, LIMIT)
    assert {hit.chunk_id: hit.cosine for hit in with_cosines} == {
        "a1": 1.0,
        "a2": 0.8,
        "a3": 0.6,
        "b2": -1.0,
    }
    assert [(hit.chunk_id, hit.score) for hit in with_cosines] == [
        (hit.chunk_id, hit.score) for hit in without
    ]
    assert all(hit.cosine is None for hit in without)


@pytest.mark.parametrize("words", [["refund"], ["policy", "window", "policy", "unknown"]])
def test_hits_of_other_searches_bring_the_bm25_that_a_text_search_gives_them(
    chunks: Chunks, space: EmbeddingSpace, words: list[str]
) -> None:
    wanted = scope(space, *BOTH)
    bm25 = {hit.chunk_id: hit.score for hit in chunks.search.search_text(wanted, words, 99, LIMIT)}
    every = [word for known in CORPUS for word in known.keywords]
    pairs = [
        [chunks.search.search_vector(wanted, EAST, 99, LIMIT, *more) for more in ([words], [])],
        [chunks.search.search_keywords(wanted, every, 99, LIMIT, *more) for more in ([words], [])],
    ]
    for brought, plain in pairs:
        assert len(brought) == 8
        assert {h.chunk_id: h.bm25 for h in brought if h.bm25 is not None} == bm25
        assert [hit._replace(bm25=None) for hit in brought] == list(plain)


def test_hits_that_are_counted_one_by_one_bring_their_bm25_too(
    chunks: Chunks, new_space: Callable[[int], EmbeddingSpace]
) -> None:
    space = new_space(2)
    copies = [chunk(f"c{n}", "copy", (1, 0)) for n in range(20)]
    chunks.index.upsert(space, [*copies, chunk("word", "rare copy", (1, 0))])
    chunks.index.refresh(space)
    by_text = chunks.search.search_text(scope(space), ["rare"], 99, LIMIT)
    # So many ties that the graph is not trusted.
    found = chunks.search.search_vector(scope(space), vector(1, 0), 99, LIMIT, ["rare"])
    brought = {hit.chunk_id: hit.bm25 for hit in found if hit.bm25 is not None}
    assert brought == {hit.chunk_id: hit.score for hit in by_text}
    assert len(found) == 21


def test_keyword_hits_come_with_the_rarest_and_most_matches_first(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    wanted = scope(space, *BOTH)
    assert ids(chunks.search.search_keywords(wanted, ["refund", "policy"], 9, LIMIT))[0] == "a1"
    found = chunks.search.search_keywords(wanted, ["refund", "zebra", "refund"], 9, LIMIT)
    assert ids(found) == ["b2", "a1", "a2"]


def test_nothing_asked_finds_nothing(chunks: Chunks, space: EmbeddingSpace) -> None:
    assert chunks.search.search_text(scope(space), [], 9, LIMIT) == []
    assert chunks.search.search_keywords(scope(space), [], 9, LIMIT) == []
    assert chunks.search.find_cosines(scope(space), [], EAST, LIMIT) == {}


def test_k09_no_search_crosses_tenants(chunks: Chunks, space: EmbeddingSpace) -> None:
    mine = {known.id for known in CORPUS if known.tenant_id == "t"}
    assert by_every_channel(chunks, scope(space, *BOTH)) == [mine] * 4
    assert by_every_channel(chunks, scope(space, tenant="other")) == [{"z1"}] * 4
    assert by_every_channel(chunks, scope(space, tenant="")) == [set()] * 4


def test_every_search_honours_each_datasets_allowlist(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    only_d = {"a1", "a2", "a3", "c1", "c2", "c3"}
    assert by_every_channel(chunks, scope(space, ("d", AllDocuments()))) == [only_d] * 4
    mixed = scope(space, ("d", these(2, 6, 4)), ("e", AllDocuments()))
    assert by_every_channel(chunks, mixed) == [{"a2", "c1", "c3", "b1", "b2"}] * 4
    both = scope(space, ("d", these(2)), ("e", these(5)))
    assert by_every_channel(chunks, both) == [{"a2", "b2"}] * 4
    elsewhere = scope(space, ("e", these(1)))
    assert by_every_channel(chunks, elsewhere) == [set()] * 4


def test_hidden_documents_take_no_place(chunks: Chunks, space: EmbeddingSpace) -> None:
    wanted = scope(space, *BOTH, hidden=[1, 3, 6, 7, 1_000_000])
    assert by_every_channel(chunks, wanted, depth=3) == [{"a2", "b1", "b2"}] * 4


def test_disabled_chunks_take_no_place(chunks: Chunks, space: EmbeddingSpace) -> None:
    wanted = scope(space, *BOTH, disabled=["a1", "a3", "c1", "c2", "c3", "unknown"])
    assert by_every_channel(chunks, wanted, depth=3) == [{"a2", "b1", "b2"}] * 4
    both = scope(space, *BOTH, hidden=[6, 7], disabled=["a1", "a3"])
    assert by_every_channel(chunks, both, depth=3) == [{"a2", "b1", "b2"}] * 4


def test_d03_the_cut_comes_after_the_filter(
    chunks: Chunks, new_space: Callable[[int], EmbeddingSpace]
) -> None:
    space = new_space(2)
    strong = [chunk(f"x{n}", "refund policy term", (1, 0), document=n) for n in range(1, 199)]
    weak = [chunk(f"y{n}", "refund or other", (0, 1), document=n) for n in (500, 501)]
    chunks.index.upsert(space, [*strong, *weak])
    chunks.index.refresh(space)
    wanted, words = scope(space, ("d", these(500, 501))), ["refund", "policy", "term"]
    for depth, expected in ((2, ["y500", "y501"]), (1, ["y500"])):
        assert ids(chunks.search.search_keywords(wanted, words, depth, LIMIT)) == expected
        assert ids(chunks.search.search_text(wanted, words, depth, LIMIT)) == expected
    assert set(ids(chunks.search.search_vector(wanted, vector(1, 0), 2, LIMIT))) == {"y500", "y501"}


def test_cosines_are_found_for_the_chunks_that_are_there(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    found = chunks.search.find_cosines(scope(space, *BOTH), ["a2", "b2", "gone"], EAST, LIMIT)
    assert found == {"a2": 0.8, "b2": -1.0}


def test_the_rarest_words_come_first_then_by_alphabet(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    words = ["refund", "zebra", "unknown", "annual", "window", "zebra"]
    ranked = ["annual", "zebra", "window", "refund", "unknown"]
    assert list(chunks.search.pick_rarest(space, words, 9, LIMIT)) == ranked
    assert list(chunks.search.pick_rarest(space, words, 2, LIMIT)) == ranked[:2]


def test_idf_is_summed_over_the_words_as_often_as_they_stand_there(
    chunks: Chunks, space: EmbeddingSpace
) -> None:
    def idf(holding: int) -> float:
        return math.log(1 + (len(CORPUS) - holding + 0.5) / (holding + 0.5))

    found = chunks.search.sum_idf(space, ["refund", "zebra", "refund", "unknown"], LIMIT)
    assert found == pytest.approx(2 * idf(3) + idf(1) + idf(0))
    assert chunks.search.sum_idf(space, [], LIMIT) == 0


def test_a_space_without_an_index_is_unavailable(
    chunks: Chunks, new_space: Callable[[int], EmbeddingSpace]
) -> None:
    space = new_space(3)
    with pytest.raises(IndexUnavailable):
        chunks.search.search_vector(scope(space), EAST, 9, LIMIT)
    with pytest.raises(IndexUnavailable):
        chunks.search.search_text(scope(space), ["refund"], 9, LIMIT)
    with pytest.raises(IndexUnavailable):
        chunks.search.sum_idf(space, ["refund"], LIMIT)


def test_an_empty_index_finds_nothing(
    chunks: Chunks, new_space: Callable[[int], EmbeddingSpace]
) -> None:
    space = new_space(3)
    chunks.index.ensure(space)
    assert by_every_channel(chunks, scope(space)) == [set()] * 4
    assert list(chunks.search.pick_rarest(space, ["b", "a"], 9, LIMIT)) == ["a", "b"]
    assert chunks.search.sum_idf(space, ["a"], LIMIT) == pytest.approx(math.log(2))


def test_it_answers_a_ping(chunks: Chunks) -> None:
    chunks.search.ping(LIMIT)
