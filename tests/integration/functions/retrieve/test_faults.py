"""Channels broken in every way: a proxy before the real engine spoils what it answers."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from functions.retrieve.pool import Pool
from shared.opensearch import client as opensearch
from shared.opensearch.search import OpenSearchChunkSearch
from shared.ports import ChunkSearch
from tests.integration.app import App, Json, near
from tests.servers import saboteur
from tests.servers.saboteur import Fault, Saboteur
from tests.servers.server import wait_for

THREADS = 6
QUICK: dict[str, Fault] = {
    "reset": saboteur.reset,
    "hung up": saboteur.hang_up,
    "half an answer, then hung up": saboteur.stop_halfway,
    "half an answer": saboteur.send_half,
    "an empty answer": saboteur.send_nothing,
    "a page": saboteur.send_page,
    "other JSON": saboteur.send_other_json,
    "no HTTP": saboteur.speak_no_http,
    "429": saboteur.refuse("429 Too Many Requests"),
    "500": saboteur.refuse("500 Internal Server Error"),
    "503": saboteur.refuse("503 Service Unavailable"),
}
SLOW: dict[str, Fault] = {
    "silence": saboteur.stay_silent,
    "half an answer, then silence": saboteur.fall_silent_halfway,
    "a byte now and then": saboteur.drip,
    "a byte now and then from the start": saboteur.drip_from_the_start,
}
EVERY = {**QUICK, **SLOW}
HYBRID = [("vector", ["word"]), ("text", ["near", "word"])]
BM25: Json = {"fusion": {"keyword_scoring": "bm25"}}
ALONE = {"semantic_search": "vector", "full_text_search": "text", "keyword_search": "keyword"}


@dataclass(frozen=True)
class World:
    """The application, its engine behind a proxy."""

    app: App
    proxy: Saboteur
    pool: Pool
    dataset: str

    def break_only(self, fault: Fault, *channels: str) -> None:
        self.proxy.faults = dict.fromkeys(channels, fault)

    def titles(self, answer: Json) -> list[str]:
        return [record["title"] for record in answer["records"]]


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    made = app.dataset()
    app.put(made, "near", near("something else", 0.9))
    app.put(made, "word", near("refund policy", 0.1))
    return made


@pytest.fixture
def world(app: App, opensearch_url: str, dataset: str) -> Iterator[World]:
    prefix = app.search._prefix  # type: ignore[attr-defined]
    pool = Pool(THREADS)
    with Saboteur(opensearch_url).running() as proxy:
        engine = opensearch.connect(proxy.url, pool_size=THREADS)
        yield World(
            app.with_search(OpenSearchChunkSearch(engine, prefix), pool), proxy, pool, dataset
        )
        pool.close()  # waits for every task, so none may hang
        engine.close()


def ask(world: World, **more: object) -> tuple[int, Json]:
    answer = world.app.ask(world.dataset, "refund policy", query_vector=[1, 0], **more)
    return answer.status_code, answer.json()


def ask_in_time(world: World, late: str, **more: object) -> Json:
    return world.app.ask_in_time(late, world.dataset, "refund policy", query_vector=[1, 0], **more)


@pytest.mark.parametrize("fault", QUICK.values(), ids=QUICK)
@pytest.mark.parametrize(("channel", "expected"), HYBRID)
def test_a_broken_channel_leaves_the_others_hits(
    world: World, fault: Fault, channel: str, expected: list[str]
) -> None:
    world.break_only(fault, channel)
    status, answer = ask(world)
    assert (status, world.titles(answer)) == (200, expected)
    [degraded] = answer["degraded"]
    assert degraded["channel"] == channel
    assert degraded["reason"]
    assert ask(world, on_channel_failure="error")[0] == 503
    world.proxy.faults = {}
    status, answer = ask(world)
    assert (status, answer["degraded"]) == (200, [])


@pytest.mark.parametrize("fault", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize(("channel", "expected"), HYBRID)
def test_a_channel_that_does_not_come_to_an_end_is_left_at_the_deadline(
    world: World, fault: Fault, channel: str, expected: list[str]
) -> None:
    world.break_only(fault, channel)
    answer = ask_in_time(world, channel)
    assert world.titles(answer) == expected
    assert [each["channel"] for each in answer["degraded"]] == [channel]


@pytest.mark.parametrize("fault", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("method", [*ALONE, "hybrid_search"])
def test_where_every_channel_is_broken_the_answer_is_503_inside_the_deadline(
    world: World, fault: Fault, method: str
) -> None:
    world.break_only(fault, *ALONE.values())
    begun = time.monotonic()
    status, answer = ask(world, search_method=method, deadline_ms=400)
    assert status == 503
    assert "detail" in answer
    assert time.monotonic() - begun < 10  # the slow ones never end by themselves


@pytest.mark.parametrize(
    ("broken", "status"), [(["vector"], 200), (["text"], 200), (["vector", "text"], 503)]
)
def test_what_is_late_is_left_before_the_deadline_is_over(
    world: World, broken: list[str], status: int
) -> None:
    world.break_only(saboteur.stay_silent, *broken)

    def time_it(deadline: int) -> float:
        begun = time.monotonic()
        assert ask(world, deadline_ms=deadline * 1_000)[0] == status
        return time.monotonic() - begun

    # What is kept for the answer is enough, unless the machine is busy with something else.
    assert any(time_it(deadline) < deadline for deadline in (1, 1, 2, 2, 4, 8, 16))


@pytest.mark.parametrize("method", [*ALONE, "hybrid_search"])
def test_an_engine_that_refuses_connections_is_503_until_it_is_back(
    world: World, method: str
) -> None:
    assert ask(world, search_method=method)[0] == 200
    world.proxy.vanish()
    assert ask(world, search_method=method)[0] == 503
    world.proxy.come_back()
    assert ask(world, search_method=method)[0] == 200


@pytest.mark.parametrize("fault", [saboteur.say_timed_out, saboteur.miss_a_shard])
@pytest.mark.parametrize(("channel", "expected"), HYBRID)
def test_a_part_of_an_answer_is_none(
    world: World, fault: Fault, channel: str, expected: list[str]
) -> None:
    world.break_only(fault, channel)
    status, answer = ask(world)
    assert (status, world.titles(answer)) == (200, expected)
    assert [each["channel"] for each in answer["degraded"]] == [channel]


class Split:
    """A `ChunkSearch` whose vector searches go somewhere else."""

    def __init__(self, vector: OpenSearchChunkSearch, other: ChunkSearch) -> None:
        self.search_vector = vector.search_vector
        self._other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


def test_a_channel_whose_connections_are_refused_leaves_the_others_hits(
    world: World, app: App
) -> None:
    world.proxy.vanish()
    split: Any = Split(world.app.search, app.search)  # type: ignore[arg-type]
    answer = app.with_search(split).ask(world.dataset, "refund policy", query_vector=[1, 0])
    assert world.titles(answer.json()) == ["word"]
    assert answer.json()["degraded"] == [
        {"channel": "vector", "reason": "The search index can't be reached."}
    ]


@pytest.mark.parametrize("fault", EVERY.values(), ids=EVERY)
def test_word_counts_that_fail_break_the_text_channel_alone(world: World, fault: Fault) -> None:
    world.break_only(fault, "idf")
    answer = ask_in_time(world, "text", **BM25)
    assert world.titles(answer) == ["near", "word"]
    assert [each["channel"] for each in answer["degraded"]] == ["text"]


@pytest.mark.parametrize("fault", EVERY.values(), ids=EVERY)
def test_cosines_that_cannot_be_looked_up_degrade_the_vector_channel(
    world: World, app: App, fault: Fault
) -> None:
    embedded = app.embedded()
    app.put_text(embedded, "a.md", "refund policy")
    # What the vector channel does not bring needs its cosine looked up.
    world.proxy.faults = {"vector": saboteur.find_nothing, "cosines": fault}
    answer = world.app.ask_in_time("vector", embedded, "refund policy")
    assert world.titles(answer) == ["a.md"]
    assert [each["channel"] for each in answer["degraded"]] == ["vector"]


def test_after_a_hundred_failures_no_thread_and_no_connection_has_leaked(world: World) -> None:
    ask(world)
    threads, sockets = count_threads(), count_sockets()
    faults = list(EVERY.values())
    for n in range(100):
        round_, number = divmod(n, len(faults))
        channels = (["vector"], ["text"], ["vector", "text"])[round_ % 3]
        world.break_only(faults[number], *channels)
        status, answer = ask(world, deadline_ms=200)
        assert status == 503 or answer["degraded"]
    world.proxy.faults = {}
    wait_for(lambda: are_all_free(world.pool))
    status, answer = ask(world)
    assert (status, answer["degraded"]) == (200, [])
    wait_for(lambda: world.proxy.count_connections() <= THREADS)
    wait_for(lambda: count_threads() <= threads + THREADS)
    wait_for(lambda: count_sockets() <= sockets + 3 * THREADS)  # both ends, and the engine's


def are_all_free(pool: Pool) -> bool:
    """Tells whether as many tasks run at once as the pool has threads."""
    together = threading.Barrier(THREADS + 1)
    started = [pool.start(lambda: together.wait(10)) for _ in range(THREADS)]
    if None in started:
        together.abort()
        return False
    together.wait(10)
    return True


def count_threads() -> int:
    return sum(thread.name != "saboteur" for thread in threading.enumerate())


def count_sockets() -> int:
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one that listed them is gone
            found += descriptor.readlink().name.startswith("socket:")
    return found
