import math

from hypothesis import given
from hypothesis import strategies as st

from shared.fusion.deduplicate import deduplicate, identify
from shared.model import Candidate, Channel, Hit, Standing

SCORES = st.none() | st.floats(allow_nan=True, allow_infinity=True)
HITS = st.lists(st.builds(Hit, st.sampled_from("abcdef"), SCORES, SCORES, SCORES), max_size=12)
LISTS = st.dictionaries(st.sampled_from(Channel), HITS)


def test_f01_a_chunk_found_by_three_channels_comes_once_with_each_standing() -> None:
    lists = {
        Channel.VECTOR: [Hit("x", 0.4, 0.4), Hit("y", 0.3, 0.3)],
        Channel.TEXT: [Hit("z", 20.0, 0.1), Hit("x", 14.2, 0.4)],
        Channel.KEYWORD: [Hit("x", 2.0)],
    }
    assert deduplicate(lists) == [
        Candidate(
            "x",
            {
                Channel.VECTOR: Standing(1, 0.4),
                Channel.TEXT: Standing(2, 14.2),
                Channel.KEYWORD: Standing(1, 2.0),
            },
            0.4,
            14.2,
        ),
        Candidate("y", {Channel.VECTOR: Standing(2, 0.3)}, 0.3),
        Candidate("z", {Channel.TEXT: Standing(1, 20.0)}, 0.1, 20.0),
    ]


def test_f03_a_repeated_hit_takes_no_second_place() -> None:
    x, y = Hit("x", 0.9), Hit("y", 0.5)
    repeated = deduplicate({Channel.TEXT: [x, x, y], Channel.VECTOR: [y, x]})
    assert repeated == deduplicate({Channel.TEXT: [x, y], Channel.VECTOR: [y, x]})


def test_f05_a_repeated_hit_keeps_its_best_score_and_rank() -> None:
    for scores in ((0.3, 0.7), (0.7, 0.3), (None, 0.7), (0.7, None), (math.nan, 0.7)):
        first, second = (Hit("x", score) for score in scores)
        found = deduplicate({Channel.VECTOR: [first, Hit("y", 0.5), second]})
        assert found[0] == Candidate("x", {Channel.VECTOR: Standing(1, 0.7)}, 0.7)
        assert found[1].channels[Channel.VECTOR].rank == 2


def test_f08_hits_without_an_id_are_known_by_source_and_text() -> None:
    hits = [
        Hit(identify(source, "same words"), score)
        for source, score in (("handbook", 0.5), ("handbook", 0.8), ("intranet", 0.4))
    ]
    assert [c.cosine for c in deduplicate({Channel.VECTOR: hits})] == [0.8, 0.4]
    assert identify("a", "bc") != identify("ab", "c")


def test_e10_channels_that_found_nothing() -> None:
    assert deduplicate({}) == []
    assert deduplicate({Channel.VECTOR: [], Channel.TEXT: []}) == []
    assert len(deduplicate({Channel.VECTOR: [Hit("x", 0.4), Hit("y", 0.3)], Channel.TEXT: []})) == 2


def test_e11_a_hit_without_a_score_takes_its_cosine_from_where_it_is_known() -> None:
    found = deduplicate({Channel.TEXT: [Hit("x", None)], Channel.VECTOR: [Hit("x", 0.4)]})
    assert found[0].channels[Channel.TEXT] == Standing(1, None)
    assert found[0].cosine == 0.4
    assert deduplicate({Channel.TEXT: [Hit("x", 14.2)]})[0].cosine is None


def test_bm25_is_the_text_channels_score_or_comes_along_with_another_channels_hit() -> None:
    found = deduplicate(
        {
            Channel.VECTOR: [Hit("x", 0.4, 0.4, 14.2), Hit("y", 0.3, 0.3, 7.5), Hit("z", 0.1)],
            Channel.TEXT: [Hit("x", 14.2)],
            Channel.KEYWORD: [Hit("k", 3.0, bm25=2.0)],
        }
    )
    assert {c.chunk_id: c.bm25 for c in found} == {"x": 14.2, "y": 7.5, "z": None, "k": 2.0}


@given(LISTS)
def test_ranks_are_one_to_n_and_every_id_is_there_once(lists: dict[Channel, list[Hit]]) -> None:
    found = deduplicate(lists)
    first_sight = dict.fromkeys(hit.chunk_id for hits in lists.values() for hit in hits)
    assert [candidate.chunk_id for candidate in found] == list(first_sight)
    for channel, hits in lists.items():
        ids = list(dict.fromkeys(hit.chunk_id for hit in hits))
        ranks = {c.chunk_id: c.channels[channel].rank for c in found if channel in c.channels}
        assert ranks == {id: rank for rank, id in enumerate(ids, 1)}


@given(LISTS)
def test_every_figure_is_known_or_none(lists: dict[Channel, list[Hit]]) -> None:
    for candidate in deduplicate(lists):
        figures = [standing.score for standing in candidate.channels.values()]
        for figure in (*figures, candidate.cosine, candidate.bm25):
            assert figure is None or math.isfinite(figure)


@given(LISTS, HITS)
def test_another_list_removes_nobody(lists: dict[Channel, list[Hit]], more: list[Hit]) -> None:
    before = {c.chunk_id for c in deduplicate(lists)}
    channel = Channel.KEYWORD
    after = {c.chunk_id for c in deduplicate({**lists, channel: [*lists.get(channel, []), *more]})}
    assert before <= after
