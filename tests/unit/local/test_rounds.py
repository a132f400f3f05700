import threading
from collections.abc import Callable

import pytest

from functions.reconcile.report import Report
from local.rounds import Rounds
from shared.errors import IndexUnavailable


def test_rounds_go_on_whatever_happens_in_one_and_end_when_they_are_stopped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun: list[Callable[[], bool]] = []
    enough = threading.Event()

    def run(has_time: Callable[[], bool]) -> Report:
        begun.append(has_time)
        if len(begun) == 1:
            raise IndexUnavailable
        if len(begun) == 2:
            raise ValueError("a bug")
        report = Report()
        if len(begun) == 3:
            report.datasets["d"].missing = 5
        if len(begun) == 4:
            enough.set()
        return report

    rounds = Rounds(run, pause=0.001)
    rounds.start()
    assert enough.wait(20)
    assert rounds.stop()
    assert not begun[-1]()
    assert capsys.readouterr().err == (
        "Reconcile found 5 differences between the stores, and repaired them.\n"
    )


def test_a_round_is_not_waited_for_at_the_end() -> None:
    rounds = Rounds(lambda _: pytest.fail("it began"), pause=60)
    rounds.start()
    assert rounds.stop()
