"""The threads that ask the channels; they live as long as the process."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from shared.errors import Unavailable

LATE = "no answer within the deadline"


class Pool:
    """Runs tasks at once. A task never waits for a thread: a full pool refuses it."""

    def __init__(self, size: int) -> None:
        self._executor = ThreadPoolExecutor(size, thread_name_prefix="channel")
        self._free = threading.BoundedSemaphore(size)

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
