"""Documents that are cut anew on the real PostgreSQL, whatever happens on the way."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import text

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.rechunk import cut_anew
from shared.chunking import show_chunking
from shared.errors import DocumentRefused
from shared.model import Chunking, IndexingStatus
from shared.postgres.datasets import change_dataset
from shared.postgres.engine import read, transaction
from shared.postgres.retrieval import hydrate
from shared.settings import DEFAULT_TENANT
from tests.fakes.queue import FakeChangeQueue
from tests.integration.functions.ingest.world import Crash, World
from tests.integration.functions.reconcile.test_pipeline import assert_in_step

WORDS = " ".join(f"word{n}." for n in range(120))
STEPS = 7


def set_chunking(world: World, chunking: Chunking) -> None:
    with transaction(world.engine) as connection:
        values: dict[str, Any] = {"chunking": asdict(chunking)}
        world.dataset = change_dataset(connection, DEFAULT_TENANT, world.dataset.id, values)


def put_text(world: World, name: str, words: str = WORDS) -> None:
    world.work(world.put_bytes(name, words.encode(), "text/plain"))


@pytest.fixture
def cut(world: World, queue: FakeChangeQueue) -> Callable[[], int]:
    return lambda: cut_anew(world.engine, queue, world.dataset.id)


def joined(world: World, name: str) -> str:
    return " ".join(world.live_texts(name))


def test_m17_documents_stay_as_they_were_cut_until_somebody_asks(
    world: World, cut: Callable[[], int], queue: FakeChangeQueue
) -> None:
    put_text(world, "a")
    before = world.live_texts("a")
    assert len(before) == 1
    small = Chunking(size=60, overlap=0)
    set_chunking(world, small)
    world.settle()
    assert world.live_texts("a") == before
    assert world.find("a").chunking == show_chunking(Chunking())
    version = world.find("a").version
    assert cut() == 1
    assert len(queue.messages) == 1
    assert world.live_texts("a") == before  # until a worker has done it
    world.settle()
    assert len(world.live_texts("a")) > 3
    assert joined(world, "a") == WORDS
    document = world.find("a")
    assert document.chunking == show_chunking(small)
    assert document.indexing_status is IndexingStatus.COMPLETED
    assert document.version == document.live_version == version  # the sender's own number
    assert_in_step(world)
    assert cut() == 1
    set_chunking(world, Chunking())
    world.settle()
    assert world.live_texts("a") == before
    assert_in_step(world)


def test_m17_a_document_that_comes_out_equal_writes_nothing(
    world: World, cut: Callable[[], int]
) -> None:
    put_text(world, "a", "a few words")
    small = Chunking(size=60, overlap=0)
    set_chunking(world, small)
    world.embedder.passages.clear()
    calls, version = list(world.calls.names), world.find("a").index_version
    rows = world.rows("SELECT * FROM chunks ORDER BY id")
    assert cut() == 1
    world.settle()
    assert world.calls.names == calls
    assert world.embedder.passages == []
    assert world.rows("SELECT * FROM chunks ORDER BY id") == rows
    document = world.find("a")
    assert document.index_version == version
    assert document.chunking == show_chunking(small)
    assert document.indexing_status is IndexingStatus.COMPLETED


def test_only_chunks_that_are_new_are_embedded(world: World, cut: Callable[[], int]) -> None:
    long = f"# A\n\nshort\n\n# B\n\n{WORDS}"
    world.work(world.put_bytes("a", long.encode(), "text/markdown"))
    world.embedder.passages.clear()
    set_chunking(world, Chunking(size=60, overlap=0))
    cut()
    world.settle()
    assert world.embedder.passages
    assert not any("short" in each for each in world.embedder.passages)
    assert_in_step(world)


def test_what_its_sender_cut_what_is_gone_and_what_has_other_work_is_left(
    world: World, cut: Callable[[], int], queue: FakeChangeQueue
) -> None:
    world.work(world.put("sent in pieces", "one", "two"))
    put_text(world, "gone")
    world.work(world.delete("gone"))
    put_text(world, "new version waits")
    world.put_bytes("new version waits", b"other", "text/plain")
    with pytest.raises(DocumentRefused):
        world.work(world.put_bytes("bad", b"\xff\x01", "text/plain"))
    assert cut() == 0
    assert queue.messages == []


def test_a_query_under_way_finds_the_old_chunks_and_a_new_one_the_new(
    world: World, cut: Callable[[], int]
) -> None:
    put_text(world, "a")
    old = world.live_ids()
    set_chunking(world, Chunking(size=60, overlap=0))
    cut()
    world.settle()
    new = world.live_ids()
    with read(world.engine) as connection:
        assert set(hydrate(connection, DEFAULT_TENANT, [*old, *new], 0)) == set(new)
        assert set(hydrate(connection, DEFAULT_TENANT, old, 60)) == set(old)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_worker_that_dies_while_it_cuts_anew_is_made_good(
    world: World, parts: Parts, cut: Callable[[], int], step: int, after: bool
) -> None:
    put_text(world, "a")
    set_chunking(world, Chunking(size=60, overlap=10))
    cut()
    (change,) = world.list_waiting()
    gaps: list[str] = []

    def crash() -> None:
        raise Crash

    def look() -> None:
        if not joined(world, "a").startswith("word0."):
            gaps.append(world.calls.names[-1])

    world.calls.plan(step, crash, after=after)
    for earlier in range(step):
        world.calls.plan(earlier, look, after=True)
    try:
        world.work(change)
    except Crash:
        look()
        report, _ = reconcile(parts)
        assert report.sum().differing == 0
    world.settle()
    assert gaps == []
    assert len(world.live_texts("a")) > 3
    assert_in_step(world)
    assert reconcile(parts)[0].sum().differing == 0


@pytest.mark.parametrize("step", range(STEPS))
@pytest.mark.parametrize("way", ["newer", "delete", "metadata"])
def test_who_changes_the_document_meanwhile_wins(
    world: World, parts: Parts, cut: Callable[[], int], way: str, step: int
) -> None:
    put_text(world, "a")
    set_chunking(world, Chunking(size=60, overlap=0))
    cut()
    (change,) = world.list_waiting()
    ways: dict[str, Callable[[], object]] = {
        "newer": lambda: put_text(world, "a", "new words"),
        "delete": lambda: world.work(world.delete("a")),
        "metadata": lambda: world.put_bytes("a", WORDS.encode(), "text/plain", metadata={"n": 1}),
    }

    def meanwhile() -> None:
        ways[way]()

    world.calls.plan(step, meanwhile)
    world.work(change)
    is_done = step < len(world.calls.names) and not world.calls.before
    world.settle()
    if is_done:
        expected = {"newer": "new words", "delete": "", "metadata": WORDS}[way]
        assert joined(world, "a") == expected
    assert_in_step(world)
    assert reconcile(parts)[0].sum().differing == 0


def test_chunks_that_left_a_version_come_back_to_it(world: World, cut: Callable[[], int]) -> None:
    put_text(world, "a")
    for size in (60, 400, 60, 80, 400):
        set_chunking(world, replace(Chunking(), size=size, overlap=0))
        cut()
        world.settle()
        assert joined(world, "a") == WORDS
        assert_in_step(world)
    with read(world.engine) as connection:
        twice = connection.execute(
            text("SELECT chunk_id FROM chunk_memberships WHERE until_version IS NULL"
                 " GROUP BY chunk_id HAVING count(*) > 1")
        ).all()  # fmt: skip
    assert twice == []
