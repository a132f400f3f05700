import math

from hypothesis import given
from hypothesis import strategies as st

from shared.fusion.explain import Explanation
from shared.fusion.rank import Dropped, DropReason, Scored, cut, pass_threshold, rank, shown_score

SCORES = st.floats(allow_nan=True) | st.sampled_from([0.5, 0.25, -0.0, 0.0])


def score(*figures: float) -> list[Scored]:
    """Scored chunks c0, c1, ..."""
    return [
        Scored(f"c{i}", figure, Explanation(channels={}, final_score=figure))
        for i, figure in enumerate(figures)
    ]


def ids(scored: list[Scored] | list[Dropped]) -> list[str]:
    return [one.chunk_id for one in scored]


def test_e03_exactly_the_threshold_is_enough() -> None:
    kept, dropped = pass_threshold(score(0.5, 0.5 - 2e-9), 0.5)
    assert (ids(kept), ids(dropped)) == (["c0"], ["c1"])
    assert ids(pass_threshold(score(0.7 * 0.4 + 0.3 * 1), 0.58)[0]) == ["c0"]
    assert ids(pass_threshold(score(0.3), 0.1 + 0.2)[0]) == ["c0"]


def test_none_is_off_and_zero_is_a_threshold() -> None:
    scored = score(0.1, 0.0, -0.1)
    assert ids(pass_threshold(scored, None)[0]) == ["c0", "c1", "c2"]
    assert ids(pass_threshold(scored, 0.0)[0]) == ["c0", "c1"]
    assert ids(pass_threshold(scored, -0.1)[0]) == ["c0", "c1", "c2"]


def test_e13_nothing_below_the_threshold_and_every_reason_is_named() -> None:
    kept, dropped = pass_threshold(rank(score(0.0, 0.5, math.nan, 0.9)), 0.5)
    assert ids(kept) == ["c3", "c1"]
    assert ids(dropped) == ["c0", "c2"]
    assert {one.reason for one in dropped} == {DropReason.THRESHOLD}


def test_h04_threshold_then_order_then_cut() -> None:
    kept, _ = pass_threshold(rank(score(0.5, 0.9, 0.49, 0.5)), 0.5)
    two, rest = cut(kept, 2)
    assert ids(two) == ["c1", "c0"]
    assert [(one.chunk_id, one.reason) for one in rest] == [("c3", DropReason.TOP_K)]
    assert len(cut(kept, 10)[0]) == 3


def test_only_equal_scores_are_ties() -> None:
    assert ids(rank(score(0.5, 0.5 + 1e-12, 0.5))) == ["c1", "c0", "c2"]


def test_shown_scores_are_within_zero_and_one() -> None:
    assert list(map(shown_score, (-0.2, 0.3, 1.4, math.nan))) == [0.0, 0.3, 1.0, 0.0]


@given(st.lists(SCORES, max_size=12), st.data())
def test_any_order_in_one_order_out(figures: list[float], data: st.DataObject) -> None:
    scored = score(*figures)
    ranked = rank(data.draw(st.permutations(scored)))
    assert ids(ranked) == ids(rank(scored))
    shown = [shown_score(one.score) for one in ranked]
    assert shown == sorted(shown, reverse=True)
    assert all(0 <= figure <= 1 for figure in shown)


@given(st.lists(SCORES, max_size=12), st.none() | st.floats(-1, 1))
def test_everybody_is_kept_or_dropped(figures: list[float], threshold: float | None) -> None:
    kept, dropped = pass_threshold(rank(score(*figures)), threshold)
    assert sorted(ids(kept) + ids(dropped)) == sorted(f"c{i}" for i in range(len(figures)))
    assert cut(kept, 8)[0][:3] == cut(kept, 3)[0]


def test_what_fell_out_can_be_taken_back_as_it_was_scored() -> None:
    scored = score(0.9, 0.1)
    _, dropped = pass_threshold(scored, 0.5)
    assert [each.restore() for each in dropped] == scored[1:]
