import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from urllib3.exceptions import ReadTimeoutError

from shared.deadlines import PunctualHTTPPool, ShutAfter
from tests.servers.server import wait_for
from tests.servers.talk import talking_server


def wait_out(seconds: float) -> None:
    """Returns once a socket with this time was shut."""
    ours, theirs = socket.socketpair()
    with ours, theirs, suppress(TimeoutError), ShutAfter(ours, seconds):
        ours.recv(1)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_who_reads_a_socket_past_its_time_meets_its_end(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    with pytest.raises(TimeoutError), ShutAfter(pair[0], 0.05):
        assert pair[0].recv(1) == b""


def test_the_error_that_it_makes_is_told_as_its_cause(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    with pytest.raises(TimeoutError) as raised, ShutAfter(pair[0], 0.05):
        pair[0].recv(1)
        raise EOFError
    assert isinstance(raised.value.__cause__, EOFError)
    with pytest.raises(EOFError), ShutAfter(pair[1], 30):
        raise EOFError


def test_a_socket_that_was_used_in_time_is_left_alone(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    with ShutAfter(pair[0], 0.05):
        pass
    wait_out(0.2)  # by then the first one's time is over, too
    pair[1].sendall(b"x")
    assert pair[0].recv(1) == b"x"


def test_the_one_with_the_least_time_goes_first_whenever_it_came() -> None:
    over: list[float] = []

    def read(seconds: float) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs, suppress(TimeoutError), ShutAfter(ours, seconds):
            ours.recv(1)
            over.append(seconds)

    readers = [threading.Thread(target=read, args=[seconds]) for seconds in (30.0, 0.3, 0.1)]
    for reader in readers:
        reader.daemon = True  # the first would stay
        reader.start()
    for reader in readers[1:]:
        reader.join(10)
    assert over == [0.1, 0.3]


def test_a_closed_socket_is_no_trouble(pair: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(TimeoutError), ShutAfter(pair[0], 0.01):
        pair[0].close()
        wait_out(0.05)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"])
def test_an_answer_that_drips_in_is_late(said: bytes) -> None:
    drop = b"x" if said else b"HTTP/1.1 200 OK\r\nA-Header:"
    with talking_server([said], then=drop) as (host, hung_up):
        name, _, port = host.partition(":")
        pool = PunctualHTTPPool(name, int(port))
        with pytest.raises(ReadTimeoutError):
            pool.request("POST", "/", body=b"{}", timeout=0.3, retries=False)
        wait_for(hung_up.is_set)
        pool.close()
