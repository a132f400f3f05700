"""A stack beside the one that all tests share, through its life: start, kill, recovery, end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import urllib3
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from local import stack
from local.artifacts import model_files
from local.errors import EngineError
from local.home import Home
from local.pins import MODEL_FILES
from local.process import GUARD, find_processes
from local.progress import NoProgress

LISTENING = "0A"
LOOPBACK = "0100007F"


class Run:
    """`python -m local.stack` on a home, in a process of its own."""

    def __init__(self, home: Path) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("WINNOW_")}
        self.process = subprocess.Popen(  # noqa: S603, our own command
            [sys.executable, "-m", "local.stack", "--home", str(home)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=own,
            cwd=Path(stack.__file__).parents[1],
        )
        assert self.process.stdout is not None
        exported = [self.process.stdout.readline().strip().partition("=") for _ in range(2)]
        self.urls = [url for _, _, url in exported]
        if not all(self.urls):
            pytest.fail(self.end(signal.SIGTERM))

    def end(self, with_signal: signal.Signals) -> str:
        """Sends the signal, and returns what was said on standard error."""
        self.process.send_signal(with_signal)
        return self.process.communicate(timeout=60)[1]


@pytest.fixture(scope="module")
def run(home: Path) -> Iterator[Run]:
    """The second stack, on a home of its own."""
    run = Run(home)
    yield run
    if run.process.poll() is None:
        run.end(signal.SIGTERM)


def find_engines(home: Path) -> dict[str, list[int]]:
    engines = Home.open(home).engines
    return {
        "postgres": find_servers(f"-D{engines}/postgres"),
        "opensearch": find_servers(f"-Dopensearch.path.home={engines}/opensearch"),
    }


def find_servers(argument: str) -> list[int]:
    """Finds the processes with this argument, without what they fork: it bears it at first too."""
    found = find_processes(argument)
    return [pid for pid in found if read_parent(pid) not in found]


def read_parent(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def ask(url: str, statement: str) -> object:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            result = connection.execute(text(statement))
            return result.scalar() if result.returns_rows else None
    finally:
        engine.dispose()


def send(method: str, url: str) -> urllib3.BaseHTTPResponse:
    with urllib3.PoolManager() as pool:
        return pool.request(method, url, timeout=30)


def find_listeners(pid: int) -> set[str]:
    """Returns the local addresses, in the kernel's hexadecimal, that the process listens on."""
    sockets = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    listeners = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == LISTENING and f"socket:[{columns[9]}]" in sockets:
                listeners.add(columns[1].partition(":")[0])
    return listeners


def test_both_engines_are_what_they_should_be(run: Run) -> None:
    database_url, opensearch_url = run.urls
    assert str(ask(database_url, "SHOW server_version")).startswith("16.")
    assert ask(database_url, "SHOW server_encoding") == "UTF8"
    assert ask(database_url, "SHOW fsync") == "on"
    assert send("GET", opensearch_url).json()["version"]["number"] == "2.19.1"
    plugins = send("GET", f"{opensearch_url}/_cat/plugins?format=json").json()
    assert [plugin["component"] for plugin in plugins] == ["opensearch-knn"]


def test_two_homes_run_side_by_side(run: Run, database_url: str, opensearch_url: str) -> None:
    assert make_url(database_url).port != make_url(run.urls[0]).port
    assert opensearch_url != run.urls[1]
    assert send("GET", opensearch_url).status == send("GET", run.urls[1]).status == 200
    assert ask(database_url, "SELECT 1") == ask(run.urls[0], "SELECT 1") == 1


@pytest.mark.usefixtures("run")
def test_engines_never_run_as_root(home: Path) -> None:
    expected = os.geteuid() or 65534
    for pids in find_engines(home).values():
        assert pids
        assert all(Path(f"/proc/{pid}").stat().st_uid == expected != 0 for pid in pids)


@pytest.mark.usefixtures("run")
def test_engines_listen_on_this_machine_alone(home: Path) -> None:
    for name, (pid,) in find_engines(home).items():
        listeners = find_listeners(pid)
        assert listeners, name
        assert all(address.endswith(LOOPBACK) for address in listeners), (name, listeners)


def test_the_database_asks_for_its_password(run: Run) -> None:
    wrong = make_url(run.urls[0]).set(password="guess")
    with pytest.raises(DBAPIError, match="password authentication failed"):
        ask(wrong.render_as_string(hide_password=False), "SELECT 1")


def test_a_home_in_use_names_its_process(run: Run, home: Path) -> None:
    with pytest.raises(EngineError, match=f"in use by process {run.process.pid}"):
        stack.start(home, NoProgress())
    assert ask(run.urls[0], "SELECT 1") == 1


def test_a_killed_run_is_recovered_and_an_ended_one_leaves_nothing(run: Run, home: Path) -> None:
    ask(run.urls[0], "CREATE TABLE kept AS SELECT 42 AS answer")
    send("PUT", f"{run.urls[1]}/kept")
    before = find_engines(home)
    for guard in find_processes(GUARD):
        if any(str(pid) in read_arguments(guard) for pids in before.values() for pid in pids):
            os.kill(guard, signal.SIGKILL)  # as the kernel does when memory runs out
    run.end(signal.SIGKILL)
    assert find_engines(home) == before, "nobody was there to end them"

    again = Run(home)
    try:
        after = find_engines(home)
        assert all(len(pids) == 1 and pids != before[name] for name, pids in after.items())
        assert ask(again.urls[0], "SELECT answer FROM kept") == 42
        assert send("GET", f"{again.urls[1]}/kept").status == 200
    finally:
        said = again.end(signal.SIGTERM)
    assert again.process.returncode == 130
    assert "Traceback" not in said
    assert find_engines(home) == {"postgres": [], "opensearch": []}


def read_arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def test_models_load_from_the_cache() -> None:
    for name in MODEL_FILES:
        files = model_files(name)
        assert files.model.stat().st_size > 20_000_000
        assert files.tokenizer.read_text(encoding="utf-8").startswith("{")
