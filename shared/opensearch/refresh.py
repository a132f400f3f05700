"""Refreshes that serve everybody who waits for one."""

import threading
from collections.abc import Callable


class SharedRefresh:
    """Runs one refresh at a time; those who ask meanwhile share the next.

    A refresh takes as long for one document as for many, so writers at work at once need few.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._state = threading.Lock()
        self._begun = 0
        self._done = 0

    def run(self, refresh: Callable[[], None]) -> None:
        """Returns once a refresh that began after this call is over; raises what it raises."""
        with self._state:
            needed = self._begun + 1
        with self._turn:
            if self._done >= needed:
                return
            with self._state:
                self._begun += 1
                number = self._begun
            refresh()
            self._done = number
