import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.errors import EmbedderFailed
from shared.models.transport import Transport, choose_pause
from tests.servers.server import ModelServer, Reply, wait_for
from tests.servers.talk import talking_server

OK = Reply({"ok": True})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer(lambda _: OK)
    with server.running():
        yield server


def post(transport: Transport, url: str, timeout: float = 20, attempts: int = 1) -> int:
    return transport.post(url, b"{}", {"Content-Length": "2"}, timeout, attempts).status


def test_connections_are_kept(server: ModelServer) -> None:
    transport = Transport(4)
    for _ in range(5):
        assert post(transport, server.url) == 200
    assert server.connections == 1


def test_o10_callers_share_a_bounded_number_of_connections_without_warnings(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    together = threading.Barrier(4)

    def meet(_: object) -> Reply:
        together.wait(20)  # passes only where four requests are in flight at once
        return OK

    server.script = [meet] * 32
    transport = Transport(4)
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(32) as callers:
        statuses = list(callers.map(lambda _: post(transport, server.url), range(32)))
    assert statuses == [200] * 32
    assert server.connections == 4
    assert caplog.records == []


def test_a_caller_waits_for_a_connection_no_longer_than_its_time(server: ModelServer) -> None:
    release = threading.Event()

    def block(_: object) -> Reply:
        release.wait(20)
        return OK

    server.script = [block]
    transport = Transport(1)
    with ThreadPoolExecutor(1) as callers:
        first = callers.submit(post, transport, server.url)
        wait_for(lambda: len(server.requests) == 1)
        with pytest.raises(EmbedderFailed, match="in use"):
            post(transport, server.url, timeout=0.05)
        release.set()
        assert first.result() == 200
    assert len(server.requests) == 1


def test_o10_a_slow_server_is_left_within_the_time_limit(server: ModelServer) -> None:
    server.script = [Reply(OK.body, delay=20)]
    with pytest.raises(EmbedderFailed, match=r"did not answer within 0\.05 s") as raised:
        post(Transport(1), server.url, timeout=0.05)
    assert "127.0.0.1" not in str(raised.value)  # it reaches callers
    assert "127.0.0.1" in str(raised.value.__cause__)
    assert len(server.requests) == 1, "a late request is not sent again"


def test_an_answer_that_drips_in_is_left_within_the_time_limit() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
    with talking_server([head], then=b"x") as (host, hung_up):
        with pytest.raises(EmbedderFailed, match=r"did not answer within 0\.2 s"):
            post(Transport(1), f"http://{host}/", timeout=0.2)
        wait_for(hung_up.is_set)


def test_the_place_of_a_failed_call_is_free_again(server: ModelServer) -> None:
    transport = Transport(1)
    server.script = [Reply(hang_up=True), Reply(hang_up=True), Reply(delay=20)]
    for timeout in (20, 0.05):
        with pytest.raises(EmbedderFailed):
            post(transport, server.url, timeout=timeout)
    assert post(transport, server.url) == 200


def test_o09_a_connection_that_dies_is_replaced_once(server: ModelServer) -> None:
    transport = Transport(2)
    assert post(transport, server.url) == 200
    server.script = [Reply(hang_up=True)]
    assert post(transport, server.url) == 200
    assert len(server.requests) == 3
    assert server.connections == 2


def test_a_server_that_always_hangs_up_is_given_up(server: ModelServer) -> None:
    server.script = [Reply(hang_up=True)] * 5
    with pytest.raises(EmbedderFailed, match="can't be reached"):
        post(Transport(2), server.url)
    assert len(server.requests) == 2


def test_a_server_that_is_not_there_can_not_be_reached() -> None:
    server = ModelServer(lambda _: OK)
    with server.running():
        pass
    with pytest.raises(EmbedderFailed, match="can't be reached") as raised:
        post(Transport(1), server.url)
    assert "127.0.0.1" not in str(raised.value)


def test_a_redirect_is_not_followed(server: ModelServer) -> None:
    server.script = [Reply({}, status=307, headers={"Location": f"{server.url}/elsewhere"})]
    assert post(Transport(1), server.url) == 307
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(server: ModelServer, status: int) -> None:
    pauses: list[float] = []
    server.script = [Reply({}, status=status), Reply({}, status=status)]
    assert post(Transport(1, pauses.append), server.url, attempts=4) == 200
    assert 0.5 <= pauses[0] <= 0.75
    assert 1.0 <= pauses[1] <= 1.5


def test_asking_again_is_bounded_and_waits_as_the_server_says(server: ModelServer) -> None:
    pauses: list[float] = []
    server.script = [Reply({}, status=429, headers={"Retry-After": "2"})] * 10
    assert post(Transport(1, pauses.append), server.url, attempts=4) == 429
    assert len(set(pauses)) == 3
    assert all(2.0 <= pause <= 3.0 for pause in pauses)  # never sooner than it says
    assert len(server.requests) == 4


def test_other_failures_are_not_asked_again(server: ModelServer) -> None:
    server.script = [Reply({}, status=500)]
    assert post(Transport(1), server.url, attempts=4) == 500
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("attempt", "retry_after", "seconds"),
    [
        (1, None, 0.5),
        (3, None, 2.0),
        (9, None, 5.0),
        (1, "3", 3.0),
        (1, "3600", 5.0),
        (1, "soon", 0.5),
        (1, "Wed, 21 Oct 2026 07:28:00 GMT", 0.5),
        (1, "-1", 0.5),
        (1, "²", 0.5),
    ],
)
def test_pauses_are_bounded(attempt: int, retry_after: str | None, seconds: float) -> None:
    assert choose_pause(attempt, retry_after) == seconds
