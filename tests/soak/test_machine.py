"""A machine that does whatever users, sources, workers and outages do; a dict is its model.

After each example both stores hold exactly what the model says. One world lives through all
examples, so that each begins with what the ones before it left.
"""

import os
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Engine

from functions.ingest.pipeline import MOST_ATTEMPTS, ingest
from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.reindex import reindex
from shared.errors import StaleVersion, WinnowError
from shared.model import AllDocuments, Change, IndexingStatus
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.documents import retry_document
from shared.postgres.engine import read, transaction
from shared.postgres.live_chunks import LiveChunk, list_live, switch_chunk
from shared.postgres.retrieval import hydrate
from shared.settings import DEFAULT_TENANT
from tests.fakes.build import scope
from tests.fakes.queue import FakeChangeQueue
from tests.integration.functions.ingest.world import Crash, World
from tests.soak.sizes import choose
from tests.soak.watched import WatchedIndex

STEPS = choose(300, 2_000)
MOST_STEPS_EACH = 50
HISTORIES = 7  # of one seed; there are as many seeds as the steps take
NAMES = st.sampled_from("abcdef")
TEXTS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
CONTENTS = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6).map(tuple)
CALLS = st.integers(0, 8)
DICE = st.integers(0, 2**32 - 1).map(random.Random)  # drawn whole, whatever is picked by them


@dataclass
class Kept:
    """What the model knows of one document."""

    content: tuple[str, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    enabled: bool = True
    archived: bool = False


class Switch(NamedTuple):
    """Names the switch of one chunk: the n-th of its document that has this text."""

    name: str
    text: str
    occurrence: int


class Machine(RuleBasedStateMachine):
    world: ClassVar[World]
    parts: ClassVar[Parts]
    search: ClassVar[OpenSearchChunkSearch]
    model: ClassVar[dict[str, Kept]]
    off: ClassVar[set[Switch]]
    # Of chunks whose text left its document: it is off still if it comes back soon.
    unsure: ClassVar[set[Switch]]
    steps: ClassVar[int] = 0
    deaths: ClassVar[int] = 0

    @initialize(contents=st.lists(CONTENTS, min_size=3, max_size=3))
    def begin(self, contents: list[tuple[str, ...]]) -> None:
        for name, content in zip("abc", contents, strict=True):
            self.put(name, content, 0, 0)

    # ---- users and sources

    @rule(name=NAMES, content=CONTENTS, n=st.integers(0, 3), ahead=st.integers(0, 3))
    def put(self, name: str, content: tuple[str, ...], n: int, ahead: int) -> None:
        more: dict[str, Any] = {"metadata": {"n": n}}
        if ahead:
            more["version"] = self.version_of(name) + ahead
        self.world.put(name, *content, **more)
        self.leave(name, content)
        kept = self.model.get(name)
        if kept is None:
            self.model[name] = Kept(content, {"n": n})
        else:
            kept.content, kept.metadata = content, {"n": n}

    @rule(name=NAMES, content=CONTENTS)
    def put_and_work(self, name: str, content: tuple[str, ...]) -> None:
        self.put(name, content, 1, 0)
        for change in self.world.list_waiting():
            self.try_to(change)

    @rule(name=NAMES, content=CONTENTS, call=CALLS, after=st.booleans())
    def put_and_die_at_work(
        self, name: str, content: tuple[str, ...], call: int, after: bool
    ) -> None:
        self.put(name, content, 2, 0)
        self.world.calls.plan(call, self.die, after=after)
        for change in self.world.list_waiting():
            self.try_to(change)
        self.world.calls.forget()

    @rule(name=NAMES)
    def put_the_same_again(self, name: str) -> None:
        if name in self.model:
            kept = self.model[name]
            self.world.put(name, *kept.content, metadata=kept.metadata)

    @rule(name=NAMES, back=st.integers(0, 3))
    def put_an_older_version(self, name: str, back: int) -> None:
        version = self.version_of(name)
        if version:
            with pytest.raises(StaleVersion):
                self.world.put(name, "stale", version=version - back)

    @rule(name=NAMES, n=st.integers(0, 3))
    def change_metadata(self, name: str, n: int) -> None:
        if name in self.model:
            self.model[name].metadata = {"n": n}
            self.world.change(name, doc_metadata={"n": n})

    @rule(name=NAMES, switch=st.sampled_from(["enabled", "archived"]), value=st.booleans())
    def switch(self, name: str, switch: str, value: bool) -> None:
        if name in self.model:
            setattr(self.model[name], switch, value)
            self.world.change(name, **{switch: value})

    @rule(name=NAMES, n=st.integers(0, 5), off=st.booleans())
    def switch_a_chunk(self, name: str, n: int, off: bool) -> None:
        live = self.list_live(name) if name in self.model else []
        if live:
            switch, chunk = live[n % len(live)]
            with transaction(self.world.engine) as connection:
                switch_chunk(connection, DEFAULT_TENANT, chunk.id, enabled=not off)
            (self.off.add if off else self.off.discard)(switch)
            stays = switch in list_switches(name, self.model[name].content)
            (self.unsure.discard if stays else self.unsure.add)(switch)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if self.version_of(name):
            self.world.delete(name)
            self.leave(name, ())
            self.model.pop(name, None)

    # ---- workers

    @rule(pick=DICE)
    def work(self, pick: random.Random) -> None:
        waiting = self.world.list_waiting()
        if waiting:
            self.try_to(pick.choice(waiting))

    @rule(pick=DICE, call=CALLS, after=st.booleans())
    def work_and_die(self, pick: random.Random, call: int, after: bool) -> None:
        self.interrupt(pick, call, self.die, after=after)

    @rule(
        pick=DICE,
        call=CALLS,
        after=st.booleans(),
        name=NAMES,
        content=CONTENTS,
    )
    def work_and_be_overtaken(
        self, pick: random.Random, call: int, after: bool, name: str, content: tuple[str, ...]
    ) -> None:
        def overtake() -> None:
            self.put(name, content, 0, 0)
            self.work_inside(pick)

        self.interrupt(pick, call, overtake, after=after)

    @rule(pick=DICE, call=CALLS, name=NAMES)
    def work_and_be_deleted(self, pick: random.Random, call: int, name: str) -> None:
        def overtake() -> None:
            self.delete(name)
            self.work_inside(pick)

        self.interrupt(pick, call, overtake, after=False)

    @rule(pick=DICE)
    def two_work_at_once(self, pick: random.Random) -> None:
        waiting = self.world.list_waiting()
        if waiting:
            first = pick.choice(waiting)
            same = [each for each in self.world.sent if each.document_id == first.document_id]
            second = pick.choice([first, *same[-3:]])
            workers = [
                threading.Thread(target=self.try_to, args=[each]) for each in (first, second)
            ]
            for worker in workers:
                worker.start()
                self.world.end_leases()  # the first one's lease is over at once
            for worker in workers:
                worker.join()

    @rule(pick=DICE)
    def deliver_again_late_and_in_any_order(self, pick: random.Random) -> None:
        sent = self.world.sent[-20:]
        for change in pick.sample(sent, min(3, len(sent))):
            self.try_to(change)

    @rule(pick=DICE, call=CALLS, after=st.booleans())
    def reconcile_and_work_meanwhile(self, pick: random.Random, call: int, after: bool) -> None:
        self.world.calls.plan(call, lambda: self.work_inside(pick), after=after)
        reconcile(self.parts)
        self.world.calls.forget()

    @rule(call=CALLS)
    def reconcile_and_die(self, call: int) -> None:
        self.world.calls.plan(call, self.die)
        with suppress(Crash):
            reconcile(self.parts)
        self.world.calls.forget()

    @rule(pick=DICE, call=CALLS, rarely=st.integers(0, 9))
    def build_anew_and_work_meanwhile(self, pick: random.Random, call: int, rarely: int) -> None:
        if rarely == 0:
            self.world.calls.plan(call, lambda: self.work_inside(pick))
            reindex(self.world.engine, self.world.index, self.parts.builder)
            self.world.calls.forget()

    # ---- what must hold

    @invariant()
    def counts_are_right(self) -> None:
        type(self).steps += 1
        assert self.world.counts() == self.world.recount()

    def teardown(self) -> None:
        world = self.world
        world.settle()
        self.retry_given_up()
        report, _ = reconcile(self.parts)
        assert report.sum().left == 0
        again, _ = reconcile(self.parts, repairs=False)
        assert again.sum().differing == 0
        for name in "abcdef":
            self.check(name)
            self.check_switches(name)
        listed = world.index.list_chunks(world.dataset.space, None, None, 10_000)
        kept = world.rows("SELECT id::text, index_version FROM chunks WHERE index_version > 0")
        assert {each.chunk_id: each.version for each in listed} == dict(kept)
        assert sorted(dict(kept)) == world.live_ids()
        for word in TEXTS:
            assert self.find(word) == sorted(self.list_seen(word)), word

    def check(self, name: str) -> None:
        kept = self.model.get(name)
        assert self.world.live_texts(name) == list(kept.content if kept else ())
        if kept is not None:
            document = self.world.find(name)
            assert document.live_version == document.version
            assert (document.metadata, document.enabled, document.archived) == (
                kept.metadata,
                kept.enabled,
                kept.archived,
            )

    def check_switches(self, name: str) -> None:
        live = self.list_live(name) if name in self.model else []
        off = {switch for switch, chunk in live if not chunk.enabled}
        said = {switch for switch in self.off if switch.name == name}
        assert {each for each, _ in live} & said - self.unsure == off - self.unsure
        self.unsure.update(said.difference(each for each, _ in live))
        self.unsure.difference_update(each for each, _ in live)
        self.off.difference_update(said - off)
        self.off.update(off)

    def list_seen(self, word: str) -> list[str]:
        """The documents that queries find by a word, as often as they hold it."""
        return [
            name
            for name, kept in self.model.items()
            if kept.enabled and not kept.archived
            for each in list_switches(name, kept.content)
            if each.text == word and each not in self.off
        ]

    def find(self, word: str) -> list[str]:
        """The same, by way of both stores."""
        world = self.world
        where = scope(
            world.dataset.space, (world.dataset.id, AllDocuments()), tenant=DEFAULT_TENANT
        )
        hits = self.search.search_text(where, [word], 1000, 10)
        with read(world.engine) as connection:
            found = hydrate(connection, DEFAULT_TENANT, [hit.chunk_id for hit in hits], 0)
        return sorted(each.title for each in found.values())

    # ---- how it is done

    def retry_given_up(self) -> None:
        """Tries again, as people do, the documents over which too many workers died in a row."""
        for name in self.model:
            document = self.world.find(name)
            if document.indexing_status is IndexingStatus.ERROR:
                assert document.error == f"given up after {MOST_ATTEMPTS} attempts"
                with transaction(self.world.engine) as connection:
                    retry_document(connection, DEFAULT_TENANT, document.id)
        self.world.settle()

    def leave(self, name: str, content: tuple[str, ...]) -> None:
        """Notes that a document holds this from now on, and nothing else."""
        stays = list_switches(name, content)
        self.unsure.update(each for each in self.off if each.name == name and each not in stays)

    def list_live(self, name: str) -> list[tuple[Switch, LiveChunk]]:
        with read(self.world.engine) as connection:
            chunks = list_live(connection, self.world.find(name), 0, 100)
        switches = list_switches(name, [chunk.text for chunk in chunks])
        return list(zip(switches, chunks, strict=True))

    def version_of(self, name: str) -> int:
        rows = self.world.rows(
            "SELECT version FROM documents WHERE id = :id", id=self.world.id_of(name)
        )
        return rows[0][0] if rows else 0

    def try_to(self, change: Change) -> None:
        with suppress(Crash, WinnowError):
            self.world.work(change)

    def work_inside(self, pick: random.Random) -> None:
        waiting = self.world.list_waiting()
        if waiting:
            with suppress(Crash, WinnowError):
                ingest(pick.choice(waiting), self.world.parts)

    def interrupt(
        self, pick: random.Random, call: int, action: Callable[[], None], *, after: bool
    ) -> None:
        self.world.calls.plan(call, action, after=after)
        self.work(pick)
        self.world.calls.forget()

    def die(self) -> None:
        type(self).deaths += 1
        raise Crash


def list_switches(name: str, texts: Sequence[str]) -> list[Switch]:
    return [Switch(name, text, texts[:n].count(text)) for n, text in enumerate(texts)]


def test_whatever_is_done_both_stores_equal_the_model(
    database: Engine,
    search: SearchEngine,
    module_index_prefix: str,
    say: Callable[[str], None],
) -> None:
    number = int(os.environ.get("WINNOW_SEED", random.SystemRandom().randrange(2**32)))
    say(f"WINNOW_SEED={number} repeats this run of the machine")
    Machine.world = World(database, lambda calls: WatchedIndex(search, module_index_prefix, calls))
    Machine.parts = Parts(
        engine=database,
        index=Machine.world.index,
        builder=OpenSearchIndexBuilder(search, module_index_prefix),
        queue=FakeChangeQueue(),
    )
    Machine.search = OpenSearchChunkSearch(search, module_index_prefix)
    Machine.world.index.ensure(Machine.world.dataset.space)
    Machine.model, Machine.off, Machine.unsure = {}, set(), set()
    Machine.steps = Machine.deaths = 0
    seeds = count(number)
    while Machine.steps < STEPS:
        run_state_machine_as_test(
            seed(next(seeds))(Machine),
            settings=settings(
                max_examples=HISTORIES,
                stateful_step_count=MOST_STEPS_EACH,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    sent = len(Machine.world.sent)
    say(f"{Machine.steps} steps, {sent} changes, {Machine.deaths} deaths: the stores agree")
    assert sent > Machine.steps / 10
