"""How long each step took."""

import time


class Stopwatch:
    """Counts milliseconds from lap to lap.

    Attributes:
        laps: what was counted so far, by name.
    """

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Ends a lap and begins the next."""
        now = time.monotonic()
        self.laps[name] = _milliseconds(now - self._last)
        self._last = now

    def age(self) -> float:
        """Returns the seconds since it was started."""
        return time.monotonic() - self._begun

    def total(self) -> dict[str, float]:
        """Returns the laps and the whole time."""
        return self.laps | {"total": _milliseconds(self.age())}


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
