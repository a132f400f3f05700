"""HTTP to a model's server: connections kept alive, every call inside its own time limit."""

import random
import threading
import time
from collections.abc import Callable, Mapping

from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError
from urllib3.exceptions import TimeoutError as TimedOut

from shared.deadlines import PUNCTUAL_POOLS
from shared.errors import EmbedderFailed, Unavailable

BUSY = (429, 503)
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0
JITTER = 0.5
"""How much longer than that a pause may be, as a part of it."""


class Transport:
    """Posts to model servers.

    Args:
        connections: the most that are open to one server; one caller more waits, in its time limit.
        pause: sleeps between tries.
        failure: the error that is raised, the port's own.
        model: what callers are told of the server; where it is stands in the cause.
    """

    def __init__(
        self,
        connections: int,
        pause: Callable[[float], object] = time.sleep,
        failure: type[Unavailable] = EmbedderFailed,
        model: str = "the embedding model",
    ) -> None:
        self.failure = failure
        self._model = model
        self._pool = PoolManager(maxsize=connections)
        self._pool.pool_classes_by_scheme = PUNCTUAL_POOLS
        self._places = threading.BoundedSemaphore(connections)
        self._pause = pause

    def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        timeout: float,
        attempts: int,
    ) -> BaseHTTPResponse:
        """Returns the server's answer, whatever its status.

        One try ends within `timeout` seconds; there are `attempts` of them while the server says
        that it is busy (429, 503).

        Raises:
            Unavailable: as `failure`: the server can't be reached, or does not answer in time.
        """
        answer = self._try(url, body, headers, timeout)
        for attempt in range(1, attempts):
            if answer.status not in BUSY:
                break
            pause = choose_pause(attempt, answer.headers.get("Retry-After"))
            # Those who were turned away together do not come back together.
            self._pause(pause * random.uniform(1, 1 + JITTER))  # noqa: S311  no secret
            answer = self._try(url, body, headers, timeout)
        return answer

    def _try(
        self, url: str, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> BaseHTTPResponse:
        deadline = time.monotonic() + timeout
        if not self._places.acquire(timeout=max(timeout, 0)):
            raise self.failure(f"all connections to {self._model} were in use for {timeout:.3g} s")
        try:
            return self._send_alive(url, body, headers, deadline)
        except HTTPError as error:
            raise self.failure(f"{self._model} {_explain(error, timeout)}") from error
        finally:
            self._places.release()

    def _send_alive(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> BaseHTTPResponse:
        try:
            return self._send(url, body, headers, deadline)
        except ProtocolError:
            # A kept connection may have died while the process was frozen. Asking twice is safe.
            return self._send(url, body, headers, deadline)

    def _send(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> BaseHTTPResponse:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self.failure("no time was left to ask the model")
        return self._pool.request(
            "POST",
            url,
            body=body,
            headers=headers,
            timeout=Timeout(total=left),
            retries=False,
            redirect=False,  # the key goes to the configured server alone
        )


def _explain(error: HTTPError, timeout: float) -> str:
    # urllib3 counts a refused connection among the timeouts
    if isinstance(error, TimedOut) and not isinstance(error, NewConnectionError):
        return f"did not answer within {timeout:.3g} s"
    return "can't be reached"


def choose_pause(attempt: int, retry_after: str | None) -> float:
    """Returns the seconds to wait after this try (1-based): what the server asks for, bounded."""
    asked = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return min(asked or FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1), LONGEST_PAUSE_SECONDS)
