"""Models that are asked beside the search: each in its own thread and its share of the deadline."""

import time
from collections.abc import Callable
from concurrent.futures import wait

from functions.retrieve.pool import Pool
from shared.errors import Unavailable


def ask_model[T](
    ask: Callable[[float], T],
    pool: Pool,
    timeout: float,
    failure: type[Unavailable],
    name: str,
) -> T:
    """Returns the model's answer; one that drips in after its time is not waited for.

    Args:
        ask: gets the seconds that there are.
        pool: the threads.
        timeout: seconds.
        failure: what is raised where there is no thread or no answer.
        name: what errors call the model.

    Raises:
        Unavailable: as `failure`, or whatever `ask` raises.
    """
    future = pool.start(lambda: ask(timeout))
    if future is None:
        raise failure("every search thread is busy")
    wait([future], timeout=timeout)
    if not future.done():
        raise failure(f"{name} did not answer within {timeout:.3g} s")
    return future.result()


def share_deadline(deadline: float, longest: float, kept: float) -> float:
    """Returns the seconds that a model gets: what is left but for what others need after it.

    Args:
        deadline: on the monotonic clock.
        longest: the most that it gets.
        kept: seconds for the others; half of what is left where that is less.
    """
    left = max(0.0, deadline - time.monotonic())
    return min(longest, left - min(kept, left / 2))
