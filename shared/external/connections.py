"""Connections to external bases: to an address that was checked, kept, never past a deadline."""

import select
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection

from shared.deadlines import ShutAfter
from shared.external.guard import Resolve, Target, find_address

_PIECE = 65_536


class TooMuch(Exception):
    """The answer is larger than what is read of one."""


class BrokenOff(HTTPException):
    """The connection ended before the answer did."""


class Connections:
    """Posts to servers, each found and checked anew for every connection.

    Args:
        resolve: looks hosts up.
        most: connections that are kept while nobody uses them.
        most_bytes: of one answer.
    """

    def __init__(self, resolve: Resolve, most: int, most_bytes: int) -> None:
        self._resolve = resolve
        self._most_bytes = most_bytes
        self._kept: deque[tuple[Target, HTTPConnection]] = deque()
        weakref.finalize(self, _close_all, self._kept)  # they go with their owner
        self._most = most
        self._lock = threading.Lock()

    def post(
        self, target: Target, path: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> tuple[int, bytes]:
        """Returns status and body of the answer, whatever they are; redirects are not followed.

        Raises:
            EndpointRefused: the host has an address that is not public.
            TooMuch: the answer does not end within `most_bytes`.
            OSError, HTTPException: there is no answer, or none before the deadline.
        """
        kept = self._take(target)
        if kept is not None:
            try:
                return self._ask(target, kept, path, body, headers, deadline)
            except (OSError, HTTPException):
                # It may have died while the process was frozen; asking twice changes nothing.
                _find_left(deadline)
        return self._ask(target, self._open(target, deadline), path, body, headers, deadline)

    def _ask(
        self,
        target: Target,
        connection: HTTPConnection,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        deadline: float,
    ) -> tuple[int, bytes]:
        is_reusable = False
        try:
            with ShutAfter(connection.sock, deadline - time.monotonic()):
                connection.sock.settimeout(_find_left(deadline))
                connection.request("POST", path, body, headers)
                with connection.getresponse() as response:
                    data = self._read(response)
            is_reusable = not response.will_close
        finally:
            if is_reusable:
                self._keep(target, connection)
            else:
                connection.close()
        return response.status, data

    def _read(self, response: HTTPResponse) -> bytes:
        data = bytearray()
        while piece := response.read(_PIECE):
            data += piece
            if len(data) > self._most_bytes:
                raise TooMuch
        if response.length:
            raise BrokenOff
        return bytes(data)

    def _open(self, target: Target, deadline: float) -> HTTPConnection:
        address = find_address(target, self._resolve)
        plain = socket.create_connection((address, target.port), _find_left(deadline))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if target.scheme == "http":
            connection = HTTPConnection(target.host, target.port)
            connection.sock = plain
            return connection
        connection = HTTPSConnection(target.host, target.port, context=self._tls)
        try:
            plain.settimeout(_find_left(deadline))
            # The certificate must be the host's, whatever address it is reached at.
            connection.sock = self._tls.wrap_socket(plain, server_hostname=target.host)
        except BaseException:
            plain.close()
            raise
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _take(self, target: Target) -> HTTPConnection | None:
        """Returns a kept connection that still seems alive."""
        while (connection := self._pop(target)) is not None:
            if not _is_dead(connection):
                return connection
            connection.close()
        return None

    def _pop(self, target: Target) -> HTTPConnection | None:
        with self._lock:
            for kept in reversed(self._kept):
                if kept[0] == target:
                    self._kept.remove(kept)
                    return kept[1]
        return None

    def _keep(self, target: Target, connection: HTTPConnection) -> None:
        with self._lock:
            self._kept.append((target, connection))
            oldest = self._kept.popleft()[1] if len(self._kept) > self._most else None
        if oldest is not None:
            oldest.close()

    def close(self) -> None:
        """Closes what is kept."""
        with self._lock:
            _close_all(self._kept)


def _close_all(kept: deque[tuple[Target, HTTPConnection]]) -> None:
    while kept:
        kept.pop()[1].close()


def _find_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _is_dead(connection: HTTPConnection) -> bool:
    """Tells whether the other side hung up, or spoke without being asked."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
