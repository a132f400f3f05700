"""The queue of changes within one process."""

import threading
from collections.abc import Sequence

from shared.model import Change


class LocalQueue:
    """A `ChangeQueue` that wakes the loop which reads the outbox; the outbox says what to do."""

    def __init__(self) -> None:
        self._changed = threading.Event()

    def send(self, changes: Sequence[Change]) -> None:
        """Wakes whoever waits, or comes to wait next; nothing changed, nobody is woken."""
        if changes:
            self._changed.set()

    def wait(self, timeout: float) -> bool:
        """Returns as soon as something changed, or after `timeout` seconds; tells which."""
        changed = self._changed.wait(timeout)
        self._changed.clear()  # before the outbox is read, so what comes from now on wakes again
        return changed
