"""How long work on this machine tells where it is."""

import sys
import threading
import time
from typing import Protocol


class Progress(Protocol):
    """Watches tasks, each known by its name. Calls come from several threads at once."""

    def begin(self, task: str, total: int = 0) -> None:
        """A task begins; `total` is its size in bytes, 0 where nobody knows it."""

    def advance(self, task: str, amount: int) -> None:
        """So many bytes more are done; a negative amount takes back what has to be done again."""

    def finish(self, task: str) -> None:
        """The task is done."""


class PlainProgress:
    """Writes one line when a task begins and one when it ends, to standard error."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._lock = threading.Lock()

    def begin(self, task: str, total: int = 0) -> None:
        """Writes that the task begins, and how large it is."""
        self._began[task] = time.monotonic()
        self._write(f"{task} ({total / 1e6:.0f} MB) ..." if total else f"{task} ...")

    def advance(self, task: str, amount: int) -> None:
        """Writes nothing: a line for every block would hide the others."""

    def finish(self, task: str) -> None:
        """Writes that the task is done, and the seconds it took."""
        self._write(f"{task}: done in {time.monotonic() - self._began[task]:.1f} s")

    def _write(self, line: str) -> None:
        with self._lock:
            print(line, file=sys.stderr, flush=True)


class NoProgress:
    """Watches and says nothing."""

    def begin(self, task: str, total: int = 0) -> None:
        """Says nothing."""

    def advance(self, task: str, amount: int) -> None:
        """Says nothing."""

    def finish(self, task: str) -> None:
        """Says nothing."""
