import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local import process
from local.errors import EngineError
from local.process import Kind, Server, end_leftovers, find_processes

KIND = Kind("Thing", signal.SIGTERM, (("[Nn]o space", "the disk is full."),))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(KIND, tmp_path / "thing.log", None)
    yield server
    server.stop()


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_server_gets_ready_and_ends(server: Server, tmp_path: Path) -> None:
    server.start(shell("echo up; exec sleep 1000"), tmp_path)
    log = tmp_path / "thing.log"
    assert server.wait_until_ready(lambda: log.read_text() or None, 20) == "up\n"
    server.stop()
    with pytest.raises(EngineError):
        server.wait_until_ready(lambda: None, 20)


def test_an_unknown_end_shows_the_log(server: Server, tmp_path: Path) -> None:
    server.start(shell("seq 1 9; exit 3"), tmp_path)
    with pytest.raises(EngineError, match=r"exit code 3.*thing\.log") as caught:
        server.wait_until_ready(lambda: None, 20)
    assert str(caught.value).endswith("\n5\n6\n7\n8\n9")


def test_a_known_end_says_what_to_do(server: Server, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"Thing can't run: the disk is full\."):
        server.run(shell("echo fatal: no space left; exit 1"), tmp_path)


def test_a_kill_from_outside_is_taken_for_want_of_memory(server: Server, tmp_path: Path) -> None:
    server.start(shell("kill -9 $$"), tmp_path)
    with pytest.raises(EngineError, match="memory ran out"):
        server.wait_until_ready(lambda: None, 20)


def test_a_program_that_cannot_start_is_a_clear_error(server: Server, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"Thing can't start: No such file.*missing"):
        server.start([tmp_path / "missing"], tmp_path)


def test_waiting_ends(server: Server, tmp_path: Path) -> None:
    server.start(shell("exec sleep 1000"), tmp_path)
    with pytest.raises(EngineError, match="not ready within 0 seconds"):
        server.wait_until_ready(lambda: None, 0.1)


def test_only_the_last_start_counts(server: Server, tmp_path: Path) -> None:
    for words, failed in (("no space", True), ("other words", False)):
        with pytest.raises(EngineError):
            server.run(shell(f"echo {words}; exit 1"), tmp_path)
        assert server.failed_with("no space") is failed
    assert (tmp_path / "thing.log").read_text() == "no space\nother words\n"


def test_the_log_before_is_kept(server: Server, tmp_path: Path) -> None:
    server.run(shell("echo first"), tmp_path)
    Server(KIND, tmp_path / "thing.log", None).run(shell("echo second"), tmp_path)
    assert (tmp_path / "thing.log").read_text() == "second\n"
    assert (tmp_path / "thing.log.1").read_text() == "first\n"


def test_nothing_starts_after_a_stop(server: Server, tmp_path: Path) -> None:
    server.stop()
    with pytest.raises(EngineError, match="stopped while it started"):
        server.start(shell("touch started"), tmp_path)
    assert not (tmp_path / "started").exists()


def test_a_server_that_does_not_end_is_killed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "END_SECONDS", 0.2)
    server.start(shell("trap '' TERM; touch deaf; while :; do sleep 1; done"), tmp_path)
    server.wait_until_ready(lambda: (tmp_path / "deaf").exists() or None, 20)
    server.stop()
    with pytest.raises(EngineError, match="was killed"):
        server.wait_until_ready(lambda: None, 20)


def test_engines_see_nothing_of_our_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    server.run(["/usr/bin/env"], tmp_path)
    assert "hidden" not in (tmp_path / "thing.log").read_text()


def test_a_server_ends_when_we_are_killed(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    code = (
        "import sys, signal; from pathlib import Path; from local.process import Kind, Server\n"
        "folder = Path(sys.argv[1])\n"
        "server = Server(Kind('Thing', signal.SIGTERM, ()), folder / 'thing.log', None)\n"
        "server.start(['/bin/sh', '-c', 'while :; do sleep 0.1; done', sys.argv[2]], folder)\n"
        "print('up', flush=True); input()"
    )
    with subprocess.Popen(  # noqa: S603, our own code
        [sys.executable, "-c", code, str(tmp_path), mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        # The server and its owner; while the server forks, its child bears the mark as well.
        assert wait_until(lambda: len(find_processes(mark)) == 2)
        owner.kill()
        owner.wait()
    assert wait_until(lambda: not find_processes(mark))


def test_leftovers_are_found_by_a_whole_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "END_SECONDS", 1.0)
    # Python sleeps in its own process: what a shell forks bears the mark too, until it is `sleep`.
    wait = "import time; time.sleep(1000)"
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('deaf', 'x'); "
    scripts = {"a": wait, "a-deaf": deaf + wait, "ab": wait}
    running = {
        name: subprocess.Popen(  # noqa: S603, our own code
            [sys.executable, "-S", "-c", script, f"{tmp_path}/{name[0:2].rstrip('-')}"],
            cwd=tmp_path,
        )
        for name, script in scripts.items()
    }
    try:
        assert wait_until((tmp_path / "deaf").exists)
        assert end_leftovers(f"{tmp_path}/a", signal.SIGTERM) == 2
        assert running["a"].wait(20) == -signal.SIGTERM
        assert running["a-deaf"].wait(20) == -signal.SIGKILL
        assert running["ab"].poll() is None
        assert end_leftovers(f"{tmp_path}/a", signal.SIGTERM) == 0
    finally:
        for each in running.values():
            each.kill()
            each.wait()
