"""Random histories, with crashes and workers that overtake each other: both stores end equal."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Engine

from shared.errors import NotFound, StaleVersion, Unavailable
from tests.integration.functions.ingest.world import Crash, World

NAMES = "abcd"
TEXTS = ("alpha", "beta", "gamma", "delta", "epsilon")
STEPS = 150


@dataclass
class History:
    """Does random things to a world, and knows what must be true of it at the end."""

    world: World
    dice: random.Random
    expected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def run(self) -> None:
        actions: list[Callable[[], None]] = [
            self.put, self.put, self.put, self.put_old, self.change, self.change, self.delete,
            self.work, self.work, self.work_interrupted, self.work_interrupted, self.repeat,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.dice.choice(actions)()
            assert self.world.counts() == self.world.recount(), self.log

    def put(self) -> None:
        name, content = self.pick_name(), self.pick_content()
        more: dict[str, Any] = {"metadata": {"n": self.dice.randrange(3)}}
        if self.dice.random() < 0.3:
            more["version"] = self.versions.get(name, 0) + self.dice.randrange(1, 4)
        self.log.append(f"put {name} {content} {more}")
        self.world.put(name, *content, **more)
        self.expected[name] = content
        self.versions[name] = self.world.find(name).version

    def put_old(self) -> None:
        name = self.pick_name()
        if name in self.versions:
            self.log.append(f"put an old {name}")
            with pytest.raises(StaleVersion):
                self.world.put(name, "stale", version=self.dice.randrange(self.versions[name] + 1))

    def change(self) -> None:
        name = self.pick_name()
        switch, value = self.dice.choice(["enabled", "archived"]), self.dice.random() < 0.5
        self.log.append(f"{switch} {name} = {value}")
        if name in self.expected:
            self.world.change(name, **{switch: value})
        else:
            with pytest.raises(NotFound):
                self.world.change(name, **{switch: value})

    def delete(self) -> None:
        name = self.pick_name()
        if name in self.versions:
            self.log.append(f"delete {name}")
            self.world.delete(name)
            self.expected.pop(name, None)
            self.versions[name] = self.world.find(name).version

    def work(self) -> None:
        waiting = self.world.list_waiting()
        if waiting:
            change = self.dice.choice(waiting)
            self.log.append(f"work at {change}")
            with suppress(Crash, Unavailable):
                self.world.work(change)

    def work_interrupted(self) -> None:
        steps, after = self.dice.randrange(6), self.dice.random() < 0.5
        interruption = self.dice.choice([self.crash, self.put, self.delete, self.work])
        self.log.append(f"at call {steps} (after: {after}): {interruption.__name__}")
        self.world.calls.plan(steps, interruption, after=after)
        self.work()
        self.world.calls.forget()

    def repeat(self) -> None:
        """A late or duplicate message."""
        if self.world.sent:
            with suppress(Crash, Unavailable):
                self.world.work(self.dice.choice(self.world.sent))

    def crash(self) -> None:
        raise Crash

    def pick_name(self) -> str:
        return self.dice.choice(NAMES)

    def pick_content(self) -> tuple[str, ...]:
        return tuple(self.dice.choices(TEXTS, k=self.dice.randrange(1, 5)))


@pytest.mark.parametrize("seed", range(4))
def test_any_history_ends_with_both_stores_equal(database: Engine, seed: int) -> None:
    history = History(World(database), random.Random(seed))  # noqa: S311  no secret
    history.run()
    world = history.world
    world.settle()
    assert world.index.list_ids(world.dataset.id) == world.live_ids(), history.log
    assert world.counts() == world.recount(), history.log
    for name in history.versions:
        document, content = world.find(name), history.expected.get(name, ())
        assert world.live_texts(name) == list(content), history.log
        assert document.live_version == (document.version if content else None), history.log
        assert document.version == history.versions[name], history.log
    held = {world.find(name).content_key for name in history.expected}
    assert held <= set(world.content.kept), history.log
