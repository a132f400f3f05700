"""The two ways to run the built functions on one machine, behind one method."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol

from tests.artifacts import ROOT, SAM_FOLDER, build_artifacts, build_emulator, logical_id
from tests.servers.emulator import Emulator, running_emulator

_PATIENCE = {"WINNOW_WAIT_SECONDS": "100"}


class Lambdas(Protocol):
    """The deployed functions."""

    def invoke(self, name: str, event: Any) -> Any:
        """Returns what a function answers to an event."""
        ...


class Emulators:
    """Each function in an emulator, started at its first event."""

    def __init__(self, environment: Mapping[str, str], folder: Path, running: ExitStack) -> None:
        self._artifacts = build_artifacts()
        self._executable = build_emulator()
        self._environment = environment
        self._folder = folder
        self._running = running
        self._started: dict[str, Emulator] = {}

    def invoke(self, name: str, event: Any) -> Any:
        """Returns what a function answers to an event."""
        if name not in self._started:
            folder = self._folder / name
            folder.mkdir()
            emulator = running_emulator(
                self._artifacts[name], self._executable, self._environment, folder
            )
            self._started[name] = self._running.enter_context(emulator)
        return self._started[name].invoke(event)


class SamLocal:
    """Each event in a container of its own, by `sam local invoke`.

    Args:
        environment: of every function.
        host: the address of this machine as containers see it.
    """

    def __init__(self, environment: dict[str, str], host: str) -> None:
        self._sam = os.environ["SAM"].split()
        self._host = host
        self._variables = SAM_FOLDER / "variables.json"
        self._variables.write_text(
            json.dumps({"Parameters": environment | _PATIENCE}), encoding="utf-8"
        )
        self._template = SAM_FOLDER / "build" / "template-local.yaml"
        self._template.write_text(_adapt_template(), encoding="utf-8")

    def invoke(self, name: str, event: Any) -> Any:
        """Returns what a function answers to an event."""
        with NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(event, file)
            file.flush()
            answer = subprocess.run(  # noqa: S603
                [
                    *(*self._sam, "local", "invoke", logical_id(name)),
                    *("--template", str(self._template), "--event", file.name),
                    *("--env-vars", str(self._variables), "--region", "us-east-1"),
                    # The name that a container's own loopback has leads to this machine as well.
                    *("--add-host", f"localhost:{self._host}", "--skip-pull-image"),
                ],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
        assert answer.stdout, answer.stderr
        return json.loads(answer.stdout)


def _adapt_template() -> str:
    built = (SAM_FOLDER / "build" / "template.yaml").read_text(encoding="utf-8")
    changes = {
        # SAM passes on the variables alone that the template declares: none is for AWS doubles.
        "WINNOW_DATABASE_IAM:": "AWS_ENDPOINT_URL: ''\n        WINNOW_DATABASE_IAM:",
        # While manage waits, a container starts, which may be slow.
        "    Timeout: 30\n": "    Timeout: 120\n",
    }
    for old, new in changes.items():
        assert built.count(old) == 1, old
        built = built.replace(old, new)
    return built


@contextmanager
def running_emulators(environment: Mapping[str, str], folder: Path) -> Iterator[Emulators]:
    """The functions in emulators, for as long as the context lasts."""
    with ExitStack() as running:
        yield Emulators(environment, folder, running)
