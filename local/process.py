"""One engine's server process: started, watched, ended, and never left behind."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from local.account import Account
from local.errors import EngineError

POLL_SECONDS = 0.05
END_SECONDS = 30.0
SHOWN_LINES = 5

GUARD = 'read _; kill -s "$1" "$2"'
"""A shell that waits for its input, which we hold, to close: then we are gone, however we went."""

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
"""All that an engine sees of ours: no keys, and no options for some other Java."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What sets one engine apart: its name, how it is asked to end, and what its last words mean.

    Attributes:
        end_signal: asks the server to end in an orderly way.
        causes: patterns of its log and what to do about each; the first that fits counts.
    """

    name: str
    end_signal: signal.Signals
    causes: tuple[tuple[str, str], ...]


class Server:
    """A server process in a session of its own, so that Ctrl-C in the terminal reaches us alone."""

    def __init__(self, kind: Kind, log: Path, account: Account | None) -> None:
        self._kind = kind
        self._log = log
        self._log_start = 0
        self._account = account
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        if log.exists():
            log.replace(log.with_suffix(".log.1"))

    def run(self, command: Sequence[str | Path], folder: Path) -> None:
        """Runs a command to its end.

        Raises:
            EngineError: it failed.
        """
        self.start(command, folder)
        if self._process is not None and self._process.wait() != 0:
            raise self._diagnose()
        with self._lock:
            self._dismiss_guard()

    def start(self, command: Sequence[str | Path], folder: Path) -> None:
        """Starts the command in this folder, and the guard that ends it should we vanish.

        Raises:
            EngineError: `stop` was called before.
        """
        with self._lock:
            if self._stopped:
                raise EngineError(f"{self._kind.name} was stopped while it started.")
            self._dismiss_guard()
            with self._log.open("ab") as log:
                self._log_start = log.tell()
                self._process = self._launch(command, folder, subprocess.DEVNULL, log)
                guard = ["/bin/sh", "-c", GUARD, "guard", self._kind.end_signal.name[3:]]
                self._guard = self._launch(
                    [*guard, str(self._process.pid)], folder, subprocess.PIPE, log
                )

    def wait_until_ready[T](self, probe: Callable[[], T | None], seconds: float) -> T:
        """Returns what the probe finds, asking it until it finds something.

        Raises:
            EngineError: the server ended, or the time was up.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._has_ended():
                raise self._diagnose()
            if (found := probe()) is not None:
                return found
            time.sleep(POLL_SECONDS)
        raise EngineError(
            f"{self._kind.name} was not ready within {seconds:.0f} seconds; its log is {self._log}."
        )

    def failed_with(self, pattern: str) -> bool:
        """Returns whether the server has ended with such words in its log."""
        return self._has_ended() and re.search(pattern, self._read_log()) is not None

    def stop(self) -> None:
        """Ends the server, orderly if it can; it can't be started again."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.send_signal(self._kind.end_signal)
                try:
                    self._process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
            self._dismiss_guard()

    def _launch(
        self, command: Sequence[str | Path], folder: Path, stdin: int, log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        account = self._account
        try:
            return subprocess.Popen(  # noqa: S603, our own commands
                command,
                cwd=folder,
                env=ENVIRONMENT,
                stdin=stdin,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
                umask=0o077,
            )
        except OSError as error:
            raise EngineError(
                f"{self._kind.name} can't start: {error.strerror} ({error.filename or folder})."
            ) from error

    def _dismiss_guard(self) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _read_log(self) -> str:
        with self._log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def _diagnose(self) -> EngineError:
        """Returns the error that says why the process ended, as far as anybody can know."""
        said = self._read_log()
        for pattern, advice in self._kind.causes:
            if re.search(pattern, said):
                return EngineError(f"{self._kind.name} can't run: {advice} Its log is {self._log}.")
        code = self._process.returncode if self._process else None
        if code == -signal.SIGKILL:
            return EngineError(
                f"{self._kind.name} was killed, most likely because memory ran out. "
                "Free some, or give OpenSearch less with WINNOW_OPENSEARCH_HEAP."
            )
        last = "\n".join(said.splitlines()[-SHOWN_LINES:])
        return EngineError(
            f"{self._kind.name} ended by itself (exit code {code}). "
            f"Its log is {self._log}; the last lines:\n{last}"
        )


def end_leftovers(argument: str, end_signal: signal.Signals) -> int:
    """Ends the processes with exactly this argument, which an earlier run left; counts them.

    The argument names the home's folder, so nothing of another home and no reused pid can be hit.
    """
    leftovers = find_processes(argument)
    for pid in leftovers:
        with suppress(ProcessLookupError):
            os.kill(pid, end_signal)
    deadline = time.monotonic() + END_SECONDS
    while (remaining := find_processes(argument)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    for pid in remaining:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(leftovers)


def find_processes(argument: str) -> list[int]:
    """Returns the pids of the living processes that have this argument on their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if argument.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found
