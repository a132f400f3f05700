"""How long work tells where it is: a bar on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from local.terminal import is_animated, open_console, tell

LINE_SECONDS = 4.0
"""Without a terminal something is said at least so often; 5 seconds are promised."""

BYTES = "bytes"

_LEAST_SECONDS = 0.001
_FEW = 10


class Watcher(Protocol):
    """Watches tasks, each known by its name. Calls come from several threads at once."""

    def begin(self, task: str, total: int = 0, unit: str = BYTES) -> None:
        """A task begins; `total` is 0 where nobody knows it."""

    def advance(self, task: str, amount: int) -> None:
        """So much more is done; a negative amount takes back what has to be done again."""

    def finish(self, task: str) -> None:
        """The task is done."""

    def say(self, line: str) -> None:
        """Something is to be told meanwhile."""


@contextmanager
def watching() -> Iterator[Watcher]:
    """Yields a watcher that writes to standard error until the block ends."""
    if is_animated(sys.stderr):
        with Bars() as bars:
            yield bars
    else:
        with Lines() as lines:
            yield lines


class Bars:
    """One moving bar a task."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=open_console(sys.stderr),
        )
        self._tasks: dict[str, tuple[TaskID, _Task]] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, task: str, total: int = 0, unit: str = BYTES) -> None:
        """Shows a bar; one that only moves where the total is not known."""
        state = _Task(total, unit)
        bar = self._progress.add_task(task, total=total or None, state=state.describe())
        self._tasks[task] = (bar, state)

    def advance(self, task: str, amount: int) -> None:
        """Moves the bar."""
        bar, state = self._tasks[task]
        state.done += amount
        self._progress.update(bar, completed=state.done, state=state.describe())

    def finish(self, task: str) -> None:
        """Fills the bar."""
        bar, state = self._tasks[task]
        state.done = state.total
        full = state.total or 1
        self._progress.update(bar, total=full, completed=full, state=state.describe())
        self._progress.stop_task(bar)

    def say(self, line: str) -> None:
        """Writes a line above the bars."""
        self._progress.console.print(line, soft_wrap=True)


class Lines:
    """A line when a task begins, one when it ends, and one every few seconds between."""

    def __init__(self, pause: float = LINE_SECONDS) -> None:
        self._pause = pause
        self._tasks: dict[str, _Task] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._remind, name="progress", daemon=True)

    def __enter__(self) -> "Lines":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def begin(self, task: str, total: int = 0, unit: str = BYTES) -> None:
        """Writes that the task begins."""
        with self._lock:
            self._tasks[task] = _Task(total, unit)
            size = f" ({_count(total, unit)})" if total and unit == BYTES else ""
            tell(f"{task}{size} ...")

    def advance(self, task: str, amount: int) -> None:
        """Keeps it for the next line."""
        with self._lock:
            self._tasks[task].done += amount

    def finish(self, task: str) -> None:
        """Writes that the task is done, and the seconds it took."""
        with self._lock:
            seconds = self._tasks.pop(task).age()
            tell(f"{task}: done in {seconds:.1f} s")

    def say(self, line: str) -> None:
        """Writes the line."""
        with self._lock:
            tell(line)

    def _remind(self) -> None:
        while not self._ended.wait(self._pause):
            with self._lock:
                for name, task in self._tasks.items():
                    tell(f"{name}: {task.describe() or f'{task.age():.0f} s'}")


@dataclass(slots=True)
class _Task:
    total: int
    unit: str
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def describe(self) -> str:
        """Returns how much is done of how much; nothing where the total is not known."""
        if not self.total:
            return ""
        if self.unit == BYTES:
            return f"{self.done / 1e6:.0f} of {_count(self.total, BYTES)}"
        rate = self.done / max(self.age(), _LEAST_SECONDS)
        return f"{self.done} of {_count(self.total, self.unit)}, {_round(rate)} a second"

    def age(self) -> float:
        """Returns the seconds since it began."""
        return time.monotonic() - self.began


def _round(rate: float) -> str:
    return f"{rate:.1f}" if rate < _FEW else f"{rate:.0f}"


def _count(amount: int, unit: str) -> str:
    return f"{amount / 1e6:.0f} MB" if unit == BYTES else f"{amount} {unit}"
