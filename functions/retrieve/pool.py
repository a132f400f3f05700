"""The threads that ask the channels; they live as long as the process."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from shared.errors import Unavailable, WinnowError

LATE = "no answer within the deadline"
_FAULT = "an unexpected error; the logs tell more"


class Pool:
    """Runs tasks at once. A task never waits for a thread: a full pool refuses it.

    Queries come in only as many as there are threads for, and wait outside; so the pool is full
    only where tasks of earlier queries are late.
    """

    def __init__(self, size: int) -> None:
        self._executor = ThreadPoolExecutor(size, thread_name_prefix="channel")
        self._free = threading.BoundedSemaphore(size)
        self._size = self._seats = size
        self._leaving = threading.Condition()

    @contextmanager
    def admit(self, tasks: int, timeout: float) -> Iterator[None]:
        """Lets a query in that has so many tasks at once.

        Raises:
            Unavailable: too few others end within `timeout` seconds.
        """
        wanted = min(tasks, self._size)
        with self._leaving:
            if not self._leaving.wait_for(lambda: self._seats >= wanted, max(0.0, timeout)):
                raise Unavailable("too many queries at once")
            self._seats -= wanted
        try:
            yield
        finally:
            with self._leaving:
                self._seats += wanted
                self._leaving.notify_all()

    def start[T](self, task: Callable[[], T]) -> Future[T] | None:
        """Starts a task in a free thread; None where there is none."""
        if not self._free.acquire(blocking=False):
            return None

        def run() -> T:
            try:
                return task()
            finally:
                self._free.release()  # before anybody can know that it is done

        return self._executor.submit(run)

    def close(self) -> None:
        """Ends the threads once their tasks are done."""
        self._executor.shutdown()


def collect[T](future: Future[T] | None) -> T:
    """Returns what a task has found by now.

    Raises:
        Unavailable: it never began, or is not done; or whatever the task raised.
    """
    if future is None:
        raise Unavailable("every search thread is busy")
    if not future.done():
        raise Unavailable(LATE)
    return future.result()


def tell(error: WinnowError) -> str:
    """Returns what callers are told of a task that failed."""
    # What is no outage is a fault of ours, such as a setting: not for callers.
    return str(error) if isinstance(error, Unavailable) else _FAULT
