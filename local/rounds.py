"""The local stand-in for the schedule of reconcile: a round now and then, while Winnow serves."""

import threading
from collections.abc import Callable

from functions.reconcile.report import Report
from local.terminal import tell
from shared.errors import Unavailable
from shared.telemetry import log_failure

PAUSE_SECONDS = 3600.0
STOP_SECONDS = 10.0

type Round = Callable[[Callable[[], bool]], Report]
"""Compares the stores and repairs, for as long as the function that it is given says yes."""


class Rounds:
    """Runs a round after each pause, until it is stopped.

    Args:
        run: one round.
        pause: seconds before each.
    """

    def __init__(self, run: Round, pause: float = PAUSE_SECONDS) -> None:
        self._run = run
        self._pause = pause
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._go_round, name="reconcile", daemon=True)

    def start(self) -> None:
        """Begins the first pause."""
        self._thread.start()

    def stop(self) -> bool:
        """Ends after the page that is being compared; False where that takes too long."""
        self._stopped.set()
        self._thread.join(STOP_SECONDS)
        return not self._thread.is_alive()

    def _go_round(self) -> None:
        while not self._stopped.wait(self._pause):
            try:
                report = self._run(lambda: not self._stopped.is_set())
            except Unavailable:
                continue  # the next round finds the same
            except Exception as error:  # noqa: BLE001, nobody would start this thread again
                log_failure("a round failed", error)
                continue
            if found := report.sum().differing:
                tell(f"Reconcile found {found} differences between the stores, and repaired them.")
