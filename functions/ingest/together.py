"""Works side by side, which stop where the search index has to be refreshed: one refresh for all.

A refresh takes as long for one document as for many, and leaves a segment that has to be merged.
"""

import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from shared.model import EmbeddingSpace
from shared.ports import ChunkIndex

PATIENCE_SECONDS = 5.0
"""How long a work that has stopped waits at most for others to come as far."""


@dataclass(frozen=True, slots=True)
class Written:
    """What searches see once these indices are refreshed."""

    targets: Sequence[ChunkIndex]
    space: EmbeddingSpace


type Work[T] = Generator[Written, None, T]
"""Goes on when what it wrote is visible; gets the error thrown where it can't be made so."""


def run_together(works: Sequence[Work[None]]) -> list[Exception | None]:
    """Runs works to their ends, and returns what each one raised, in their order."""
    steps = {number: partial(next, work) for number, work in enumerate(works)}
    raised: list[Exception | None] = [None] * len(works)
    while steps:
        stopped: dict[int, Written] = {}
        since = time.monotonic()
        for number, step in list(steps.items()):
            try:
                stopped[number] = step()
            except StopIteration:
                del steps[number]
            except Exception as error:  # noqa: BLE001, it is one work's; the others go on
                raised[number] = error
                del steps[number]
            if stopped and time.monotonic() - since > PATIENCE_SECONDS:
                break
        trouble = _refresh(stopped.values())
        for number in stopped:
            work = works[number]
            steps[number] = partial(next, work) if trouble is None else partial(work.throw, trouble)
    return raised


def _refresh(stopped: Iterable[Written]) -> Exception | None:
    waiting = {
        (id(target), written.space): target for written in stopped for target in written.targets
    }
    try:
        for (_, space), target in waiting.items():
            target.refresh(space)
    except Exception as error:  # noqa: BLE001, told to the works that wait for it
        return error
    return None
