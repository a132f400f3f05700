import threading
from concurrent.futures import ThreadPoolExecutor

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


def test_queries_wait_outside_until_enough_others_end() -> None:
    pool = Pool(4)

    def come_in() -> bool:
        with pool.admit(4, 10):
            return True

    with ThreadPoolExecutor(1) as caller:
        with pool.admit(3, 0):
            with pytest.raises(Unavailable, match="too many"), pool.admit(2, 0):
                pass
            with pool.admit(1, 0):
                waiting = caller.submit(come_in)
        assert waiting.result(10)
    pool.close()


def test_a_query_of_more_tasks_than_threads_comes_in_alone() -> None:
    pool = Pool(2)
    with pool.admit(3, 0), pytest.raises(Unavailable), pool.admit(1, 0):
        pass
    with pool.admit(1, 0), pool.admit(1, 0):
        pass
    pool.close()


def test_a_thread_is_free_before_anybody_knows_that_its_task_is_done() -> None:
    pool = Pool(1)
    for n in range(2_000):
        started = pool.start(lambda: 7)
        assert started is not None, n
        assert started.result(10) == 7
    pool.close()
