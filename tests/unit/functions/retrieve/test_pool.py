import threading
from contextlib import ExitStack

import pytest

from functions.retrieve.pool import Pool
from shared.errors import Unavailable


def test_a_full_pool_refuses_and_a_free_one_takes_again() -> None:
    pool, asleep = Pool(2), threading.Event()
    first, second = pool.start(asleep.wait), pool.start(asleep.wait)
    assert first is not None
    assert second is not None
    assert pool.start(lambda: 1) is None
    asleep.set()
    assert first.result(10)
    assert second.result(10)
    for _ in range(10):  # a thread is free as soon as its task is done
        started = pool.start(lambda: 7)
        if started is not None:
            break
    else:
        raise AssertionError("no thread ever came free")
    assert started.result(10) == 7
    pool.close()


def test_a_task_that_fails_frees_its_thread() -> None:
    pool = Pool(1)

    def fail() -> None:
        raise ZeroDivisionError

    for _ in range(5):
        future = None
        while future is None:
            future = pool.start(fail)
        assert isinstance(future.exception(10), ZeroDivisionError)
    pool.close()


def test_queries_wait_outside_until_another_ends() -> None:
    pool = Pool(4)
    with ExitStack() as inside:
        inside.enter_context(pool.admit(1))
        inside.enter_context(pool.admit(1))
        with pytest.raises(Unavailable, match="too many"), pool.admit(0):
            pass
    with pool.admit(0):
        pass
    pool.close()
