"""Lambda on this machine: a built function in the Runtime Interface Emulator, without Docker."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import urllib3

from tests.artifacts import Artifact, isolated_python, logical_id

_RUNTIME = ("awslambdaric", "simplejson", "snapshot_restore_py", "runtime_client")
"""What Lambda itself adds to the import path: its runtime client."""

_START = """
import sys
sys.path[:0] = {path}
from awslambdaric.__main__ import main
main(["awslambdaric", {handler!r}])
"""
_INIT = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)")


class Emulator:
    """One function that answers events, one at a time: the emulator falls over two at once."""

    def __init__(self, url: str, log: Path, timeout: int) -> None:
        self._url = url
        self._log = log
        self._timeout = timeout
        self._http = urllib3.PoolManager(retries=False)
        self._one_at_a_time = Lock()

    def invoke(self, event: Any) -> Any:
        """Returns what the function answers; an error of its own is an answer too."""
        with self._one_at_a_time:
            answer = self._http.request(
                "POST", self._url, body=json.dumps(event).encode(), timeout=self._timeout + 30
            )
        return json.loads(answer.data)

    @property
    def init_ms(self) -> float:
        """How long the first start took: imports, and what the module of the handler does."""
        found = _INIT.search(self._log.read_text(encoding="utf-8", errors="replace"))
        assert found is not None, "no event was sent yet"
        return float(found[1])


@contextmanager
def running_emulator(
    artifact: Artifact, executable: Path, environment: Mapping[str, str], folder: Path
) -> Iterator[Emulator]:
    """A function in an emulator of its own.

    Args:
        artifact: the function.
        executable: the emulator.
        environment: the function's variables.
        folder: an empty one, for the runtime client and the log.
    """
    address, api = _free_address(), _free_address()
    code = _START.format(path=[*artifact.path, str(_add_runtime(folder))], handler=artifact.handler)
    log = folder / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603, the emulator and our own code
            [
                *(str(executable), "--log-level", "info"),
                *("--runtime-interface-emulator-address", address),
                *("--runtime-api-address", api),
                *isolated_python(),
                *("-c", code),
            ],
            cwd=artifact.folders[0],
            env=_variables(artifact) | dict(environment),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_for(address, process)
        url = f"http://{address}/2015-03-31/functions/function/invocations"
        yield Emulator(url, log, artifact.timeout)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _variables(artifact: Artifact) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108, as in Lambda
        "LANG": "C.UTF-8",
        "AWS_LAMBDA_FUNCTION_NAME": logical_id(artifact.name),
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(artifact.timeout),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(artifact.memory),
    }


def _add_runtime(folder: Path) -> Path:
    runtime = folder / "runtime"
    runtime.mkdir()
    for name in _RUNTIME:
        spec = find_spec(name)
        assert spec is not None, f"{name} is not installed"
        assert spec.origin is not None
        source = Path(spec.origin)
        if source.name == "__init__.py":
            shutil.copytree(source.parent, runtime / name)
        else:
            shutil.copy(source, runtime)
    return runtime


def _free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    host, port = address.split(":")
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        try:
            with socket.create_connection((host, int(port)), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the emulator does not start")
