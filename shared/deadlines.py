"""Sockets are shut when their time is over.

A socket's own timeout begins anew with every byte: a server that sends one now and then would keep
a thread as long as it likes.
"""

import socket
import threading
import time
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from math import inf

from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class ShutAfter:
    """Shuts a socket where it is still in use after so many seconds: who reads it meets its end.

    Only while the context lasts, so that a connection can be kept. What was shut may look like the
    end of an answer: the context ends with a `TimeoutError` then.
    """

    def __init__(self, sock: socket.socket, seconds: float) -> None:
        self._sock = sock
        self._seconds = seconds

    def __enter__(self) -> None:
        """Begins to watch the socket."""
        self._ticket = _watch.add(self._sock, time.monotonic() + self._seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, *_: object
    ) -> None:
        """Ends it."""
        was_shut = not _watch.remove(self._ticket)
        if was_shut and (error is None or isinstance(error, Exception)):
            raise TimeoutError from error


class PunctualHTTPConnection(HTTPConnection):
    """One whose answer is whole within the timeout, or none."""

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own
        """Returns the answer; a timeout is for all of it."""
        if not isinstance(self.timeout, int | float):
            return super().getresponse()
        with ShutAfter(self.sock, self.timeout):
            return super().getresponse()


class PunctualHTTPSConnection(PunctualHTTPConnection, HTTPSConnection):
    """The same by TLS."""


class PunctualHTTPPool(HTTPConnectionPool):
    """Connections whose answers are whole within the timeout, or none."""

    ConnectionCls = PunctualHTTPConnection


class PunctualHTTPSPool(HTTPSConnectionPool):
    """The same by TLS."""

    ConnectionCls = PunctualHTTPSConnection


PUNCTUAL_POOLS: dict[str, type[HTTPConnectionPool]] = {
    "http": PunctualHTTPPool,
    "https": PunctualHTTPSPool,
}


class _Watch:
    """One thread for the sockets of the process. It sleeps while none is late."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: dict[int, socket.socket] = {}
        self._due: list[tuple[float, int]] = []  # a heap; of those that were removed, too
        self._tickets = count()
        self._wakes_at = inf
        self._is_running = False

    def add(self, sock: socket.socket, deadline: float) -> int:
        """Begins to watch a socket; returns what `remove` takes."""
        with self._changed:
            ticket = next(self._tickets)
            self._watched[ticket] = sock
            heappush(self._due, (deadline, ticket))
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="deadlines", daemon=True).start()
            elif deadline < self._wakes_at:  # seldom: later calls have later deadlines
                self._changed.notify()
            return ticket

    def remove(self, ticket: int) -> bool:
        """Ends watching: the socket won't be shut any more. Tells whether it was not."""
        with self._changed:
            return self._watched.pop(ticket, None) is not None

    def _run(self) -> None:
        with self._changed:
            while True:
                self._shut_late()
                self._wakes_at = self._due[0][0] if self._due else inf
                left = self._wakes_at - time.monotonic()
                self._changed.wait(None if left == inf else max(0.0, left))

    def _shut_late(self) -> None:
        while self._due:
            deadline, ticket = self._due[0]
            if ticket in self._watched and deadline > time.monotonic():
                return
            heappop(self._due)
            sock = self._watched.pop(ticket, None)
            if sock is not None:
                with suppress(OSError):  # it may be closed already
                    # Of the plain socket: a TLS one would have to agree with the other side first.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)


_watch = _Watch()
