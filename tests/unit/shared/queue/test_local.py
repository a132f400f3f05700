import threading

from shared.model import Action, Change
from shared.queue.local import LocalQueue

CHANGE = Change("t", "d", "x", 1, Action.PROCESS)


def test_whoever_waits_is_woken() -> None:
    queue = LocalQueue()
    woken: list[bool] = []
    waiting = threading.Thread(target=lambda: woken.append(queue.wait(20)))
    waiting.start()
    queue.send([CHANGE])
    waiting.join(20)
    assert woken == [True]


def test_several_changes_wake_once() -> None:
    queue = LocalQueue()
    queue.send([CHANGE])
    queue.send([CHANGE, CHANGE])
    assert queue.wait(0)
    assert not queue.wait(0)


def test_waiting_ends_where_nothing_changes() -> None:
    queue = LocalQueue()
    queue.send([])
    assert not queue.wait(0.01)
