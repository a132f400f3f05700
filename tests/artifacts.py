"""What `sam build` makes: one folder a function and a layer, as Lambda gets them."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfnlint.decode import cfn_yaml

ROOT = Path(__file__).parent.parent
SAM_FOLDER = ROOT / ".aws-sam"
FUNCTIONS = ("retrieve", "manage", "ingest", "reconcile", "migrate")


@dataclass(frozen=True)
class Artifact:
    """A function as it is deployed.

    Attributes:
        folders: its own, then those of its layers.
        timeout: in seconds.
        memory: in MB.
    """

    name: str
    handler: str
    folders: Sequence[Path]
    timeout: int
    memory: int

    @property
    def path(self) -> list[str]:
        """Lambda's import path, before the runtime's own."""
        function, *layers = self.folders
        return [str(function), *(str(layer / "python") for layer in layers)]

    @property
    def size(self) -> int:
        """Unzipped bytes of the function with its layers."""
        return sum(file.stat().st_size for file in self.files())

    def files(self) -> Iterator[Path]:
        """Yields every file of the function and its layers."""
        for folder in self.folders:
            yield from (path for path in folder.rglob("*") if path.is_file())

    def python(self, code: str, environment: Mapping[str, str], *options: str) -> str:
        """Runs code on Lambda's path, and nothing else's; returns what it printed."""
        answer = subprocess.run(  # noqa: S603, our own code
            [*isolated_python(), *options, "-c", f"import sys\nsys.path[:0] = {self.path}\n{code}"],
            env=dict(environment),
            cwd=self.folders[0],
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout


def isolated_python() -> list[str]:
    """The interpreter without any site-packages; writes no .pyc, as Lambda's disk is read-only."""
    base: str = sys._base_executable  # type: ignore[attr-defined]  # the venv's own has its packages
    return [base, "-I", "-S", "-B"]


def build(*targets: str) -> None:
    """Makes files of build.mk where they are missing or stale."""
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS"}}
    SAM_FOLDER.mkdir(exist_ok=True)
    with (SAM_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs at once would build into one folder
        subprocess.run(  # noqa: S603
            ["make", "--silent", *targets],  # noqa: S607
            cwd=ROOT,
            env=environment,
            check=True,
        )


def build_artifacts() -> dict[str, Artifact]:
    """Builds what is missing or stale, and returns each function's artifact by its name."""
    build(".aws-sam/build/template.yaml")
    return {name: _find(name) for name in FUNCTIONS}


def build_emulator() -> Path:
    """Returns the Lambda Runtime Interface Emulator's executable."""
    build(".aws-sam/aws-lambda-rie")
    return SAM_FOLDER / "aws-lambda-rie"


def read_template() -> dict[str, Any]:
    """Returns template.yaml, with !Ref and its like written out."""
    return dict(cfn_yaml.load(str(ROOT / "template.yaml")))


def logical_id(name: str) -> str:
    """Returns the template's name of a function."""
    return f"{name.capitalize()}Function"


def _find(name: str) -> Artifact:
    template = read_template()
    properties = template["Resources"][logical_id(name)]["Properties"]
    ids = [logical_id(name), *(layer["Ref"] for layer in properties["Layers"])]
    return Artifact(
        name=name,
        handler=properties["Handler"],
        folders=[SAM_FOLDER / "build" / each for each in ids],
        timeout=properties.get("Timeout", template["Globals"]["Function"]["Timeout"]),
        memory=properties["MemorySize"],
    )
