import pytest

from functions.reconcile.compare import Difference, Kind, compare, judge
from shared.model import ListedChunk
from shared.postgres.standings import Standing


def stands(version: int | None, *, live: bool = True, busy: bool = False) -> Standing:
    return Standing("c", "doc", "d", 9, version, live, busy)


def lists(version: int, document_seq: int = 9) -> ListedChunk:
    return ListedChunk("c", "d", document_seq, version)


LIVE, LEFT, BUSY = stands(5), stands(None, live=False), stands(None, live=False, busy=True)


@pytest.mark.parametrize(
    ("standing", "listed", "kind"),
    [
        pytest.param(LIVE, lists(5), None, id="both agree"),
        pytest.param(LIVE, None, Kind.MISSING, id="the index lost it"),
        pytest.param(stands(None), None, Kind.MISSING, id="it was never written"),
        pytest.param(LIVE, lists(4), Kind.OUTDATED, id="the index is behind"),
        pytest.param(LIVE, lists(6), Kind.OUTDATED, id="the index is ahead"),
        pytest.param(stands(None), lists(5), Kind.OUTDATED, id="PostgreSQL does not know of it"),
        pytest.param(LIVE, lists(5, 8), Kind.OUTDATED, id="its document has another number"),
        pytest.param(stands(5, busy=True), None, Kind.MISSING, id="what is live needs no worker"),
        pytest.param(LEFT, None, None, id="neither has it"),
        pytest.param(LEFT, lists(5), Kind.ORPHANED, id="it was left behind"),
        pytest.param(stands(5, live=False), lists(5), Kind.ORPHANED, id="its document is gone"),
        pytest.param(None, lists(5), Kind.ORPHANED, id="nobody knows it"),
        pytest.param(BUSY, lists(5), None, id="a worker brings it in, or takes it away"),
        pytest.param(BUSY, None, None, id="a worker will bring it in"),
    ],
)
def test_each_way_to_differ(
    standing: Standing | None, listed: ListedChunk | None, kind: Kind | None
) -> None:
    assert judge(standing, listed) is kind


def test_two_lists_are_compared_by_id_and_the_owner_is_postgresqls_word() -> None:
    standings = [
        Standing(id_, "doc", "ours", 9, version, live, False)
        for id_, version, live in [("a", 1, True), ("b", 2, True), ("d", None, False)]
    ]
    listed = [ListedChunk(id_, "theirs", 9, 2) for id_ in "bcd"]
    found = [(each.chunk_id, each.kind, each.dataset_id) for each in compare(standings, listed)]
    assert found == [
        ("a", Kind.MISSING, "ours"),
        ("c", Kind.ORPHANED, "theirs"),
        ("d", Kind.ORPHANED, "ours"),
    ]


def test_what_lies_under_another_id_than_its_chunks_is_an_orphan_and_no_copy_of_it() -> None:
    standings = [Standing("a", "doc", "ours", 9, 1, True, False)]
    copied = ListedChunk("a", "d", 9, 1, stored_as="copy")
    orphan = Difference(Kind.ORPHANED, "copy", "d", None, copied)
    own = ListedChunk("a", "d", 9, 1)
    assert list(compare(standings, [own, copied])) == [orphan]
    assert list(compare(standings, [copied, own])) == [orphan]
    alone = list(compare(standings, [copied]))
    assert [(each.chunk_id, each.kind) for each in alone] == [
        ("a", Kind.MISSING),
        ("copy", Kind.ORPHANED),
    ]
    assert orphan.holds(None)
    assert not orphan.holds(standings[0])  # by then it is the id of a chunk of ours


def difference(standing: Standing | None, listed: ListedChunk | None) -> Difference:
    kind = judge(standing, listed)
    assert kind is not None
    return Difference(kind, "c", "d", standing, listed)


@pytest.mark.parametrize(
    ("found", "now", "holds"),
    [
        (difference(LIVE, None), LIVE, True),
        (difference(LIVE, None), stands(5, busy=True), True),
        (difference(LIVE, None), stands(6), False),  # written again by somebody else
        (difference(LIVE, None), LEFT, False),
        (difference(LIVE, None), None, False),
        (difference(LIVE, lists(4)), LIVE, True),
        (difference(LIVE, lists(4)), stands(4), False),
        (difference(None, lists(4)), None, True),
        (difference(None, lists(4)), BUSY, False),  # it has come since
        (difference(None, lists(4)), LIVE, False),
        (difference(LEFT, lists(4)), LEFT, True),
        (difference(LEFT, lists(4)), BUSY, False),
        (difference(LEFT, lists(4)), stands(4), False),
    ],
)
def test_a_difference_holds_while_postgresql_says_the_same(
    found: Difference, now: Standing | None, holds: bool
) -> None:
    assert found.holds(now) is holds
