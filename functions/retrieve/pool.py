"""The threads that ask the channels; they live as long as the process."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from shared.errors import Unavailable, WinnowError

CHANNELS_A_QUERY = 2
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
        self._seats = threading.BoundedSemaphore(max(1, size // CHANNELS_A_QUERY))

    @contextmanager
    def admit(self, timeout: float) -> Iterator[None]:
        """Lets a query in; raises `Unavailable` where no other ends within `timeout` seconds."""
        if not self._seats.acquire(timeout=max(0.0, timeout)):
            raise Unavailable("too many queries at once")
        try:
            yield
        finally:
            self._seats.release()

    def start[T](self, task: Callable[[], T]) -> Future[T] | None:
        """Starts a task in a free thread; None where there is none."""
        if not self._free.acquire(blocking=False):
            return None
        future = self._executor.submit(task)
        future.add_done_callback(lambda _: self._free.release())
        return future

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
