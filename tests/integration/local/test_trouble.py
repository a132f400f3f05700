"""What a person reads when an engine can't run, and what is left running then: nothing."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import postgres, stack
from local.errors import EngineError
from local.home import Home
from local.opensearch import OpenSearch
from local.postgres import Postgres
from local.process import find_processes
from local.progress import NoProgress


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_taken_port_is_no_trouble(
    home: Path, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_port = postgres.find_free_port()
    ports = [taken_port, taken_port, free_port]
    monkeypatch.setattr(postgres, "find_free_port", lambda: ports.pop(0))
    server = Postgres(Home.open(home))
    try:
        assert f"@127.0.0.1:{free_port}/" in server.start()
    finally:
        server.stop()


def test_no_free_port_at_all_is_a_clear_error(
    home: Path, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "find_free_port", lambda: taken_port)
    server = Postgres(Home.open(home))
    try:
        with pytest.raises(EngineError, match="PostgreSQL can't run: no port was free"):
            server.start()
    finally:
        server.stop()


def test_a_stale_pid_file_is_no_trouble(home: Path) -> None:
    opened = Home.open(home)
    (opened.engines / "postgres" / "postmaster.pid").write_text(
        f"1\n{home}\n0\n5432\n\n\n\nready\n"
    )
    server = Postgres(opened)
    try:
        assert server.start().startswith("postgresql+pg8000://")
    finally:
        server.stop()


def test_a_lost_password_is_a_clear_error(home: Path) -> None:
    (home / "postgres-password").write_text("lost")
    server = Postgres(Home.open(home))
    try:
        with pytest.raises(EngineError, match="does not take the password"):
            server.start()
    finally:
        server.stop()


@pytest.mark.parametrize("heap", ["90000g", "1m"])
def test_a_heap_that_does_not_fit_is_a_clear_error(home: Path, heap: str) -> None:
    with pytest.raises(EngineError, match=r"OpenSearch can't run: .*WINNOW_OPENSEARCH_HEAP"):
        stack.start(home, NoProgress(), database_url="given", heap=heap)
    assert Home.open(home).read_owner() is None


@pytest.mark.parametrize("heap", ["512", "-1g", "0m", "1t", ""])
def test_a_heap_that_is_no_size_is_refused(home: Path, heap: str) -> None:
    with pytest.raises(EngineError, match="a size such as 512m or 2g"):
        OpenSearch(Home.open(home), NoProgress(), heap)


def test_when_one_engine_fails_the_other_is_gone_too(home: Path) -> None:
    (home / "postgres-password").unlink()
    with pytest.raises(EngineError):
        stack.start(home, NoProgress(), heap="1m")
    assert find_processes(f"-D{Home.open(home).engines}/postgres") == []


def test_a_home_closed_to_the_engines_works_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local.home.ELSEWHERE", home / "elsewhere")
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    server = Postgres(Home.open(closed / "home"))
    try:
        assert server.start().startswith("postgresql+pg8000://")
    finally:
        server.stop()
