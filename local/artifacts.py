"""The pinned files that no Python package carries: OpenSearch's jars and the embedding models.

Each file is named in `pins.tsv` with its SHA-256 and fetched once into the user's cache, where
every home and every test run finds it.
"""

import csv
import errno
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path

from local.errors import EngineError
from local.progress import NoProgress, Progress

PARALLEL_DOWNLOADS = 8
ATTEMPTS = 3
DISK_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}
ABANDONED_SECONDS = 24 * 3600
"""A partial download of this age belongs to a run that was killed."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file: its coordinates, its digest, and the folder it belongs in."""

    place: str
    group: str
    name: str
    version: str
    packaging: str
    sha256: str
    size: int

    @property
    def filename(self) -> str:
        """The file's name, here and where it comes from."""
        return f"{self.name}-{self.version}.{self.packaging}"


Download = Callable[[Artifact, Path, Callable[[int], None]], Path]
"""Fetches an artifact somewhere into a folder, reports bytes as they come, returns the file."""


@cache
def read_pins() -> tuple[Artifact, ...]:
    """Returns every pinned artifact."""
    text = resources.files("local").joinpath("pins.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return tuple(
        Artifact(
            row["place"],
            row["group"],
            row["artifact"],
            row["version"],
            row["packaging"],
            row["sha256"],
            int(row["bytes"]),
        )
        for row in rows
    )


def engine_pins() -> tuple[Artifact, ...]:
    """Returns the artifacts that OpenSearch is laid out from."""
    return tuple(pin for pin in read_pins() if not pin.place.startswith("models/"))


def cache_folder() -> Path:
    """Returns the user's cache of Winnow: below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winnow"


def download(artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
    """Fetches exactly this artifact, without its dependencies."""
    from jgo.maven import MavenContext, PythonResolver  # noqa: PLC0415, most runs fetch nothing

    @contextmanager
    def report(_name: str, _size: int) -> Iterator[Callable[[int], None]]:
        yield advance

    context = MavenContext(
        resolver=PythonResolver(progress_callback=report), repo_cache=folder, timeout=30
    )
    component = context.project(artifact.group, artifact.name).at_version(artifact.version)
    return Path(component.artifact(packaging=artifact.packaging).resolve())


class Cache:
    """A folder of verified artifacts, safe to share between processes.

    A file appears under its name complete or not at all: it is fetched into a folder of its own,
    checked, and renamed.
    """

    def __init__(self, folder: Path | None = None, source: Download = download) -> None:
        self.folder = folder or cache_folder()
        self._source = source
        self._stopped = threading.Event()

    def fetch(
        self, artifacts: Iterable[Artifact], progress: Progress | None = None
    ) -> dict[Artifact, Path]:
        """Returns where each artifact lies, fetching those that are missing or damaged.

        Raises:
            EngineError: a download failed, a digest is wrong, or the cache can't be written.
        """
        with reporting_disk_trouble(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
            wanted = list(artifacts)
            with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
                present = pool.map(self._holds, wanted)
                missing = [a for a, held in zip(wanted, present, strict=True) if not held]
                if missing:
                    self._fetch_all(pool, missing, progress or NoProgress())
            return {artifact: self._path(artifact) for artifact in wanted}

    def stop(self) -> None:
        """Makes a fetch that runs in another thread fail soon."""
        self._stopped.set()

    def _path(self, artifact: Artifact) -> Path:
        return self.folder / "artifacts" / artifact.filename

    def _holds(self, artifact: Artifact) -> bool:
        path = self._path(artifact)
        return path.exists() and digest(path) == artifact.sha256

    def _fetch_all(
        self, pool: ThreadPoolExecutor, missing: list[Artifact], progress: Progress
    ) -> None:
        task = f"Downloading {len(missing)} files"
        progress.begin(task, sum(artifact.size for artifact in missing))
        list(pool.map(partial(self._fetch_one, advance=partial(progress.advance, task)), missing))
        progress.finish(task)

    def _fetch_one(self, artifact: Artifact, advance: Callable[[int], None]) -> None:
        with tempfile.TemporaryDirectory(prefix="partial-", dir=self.folder) as partial_folder:
            fetched = self._download(artifact, Path(partial_folder), advance)
            found = digest(fetched)
            if found != artifact.sha256:
                raise EngineError(
                    f"What came for {artifact.filename} is not the file that Winnow was built "
                    f"with, and was thrown away (SHA-256 {found}, expected {artifact.sha256}). "
                    "Try again; if it stays so, see what stands between you and the network."
                )
            fetched.chmod(0o644)  # the engine's user reads it too, whatever this process's umask
            self._path(artifact).parent.mkdir(exist_ok=True)
            fetched.replace(self._path(artifact))

    def _download(self, artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
        failure: Exception | None = None
        for attempt in range(1, ATTEMPTS + 1):
            received: list[int] = []

            def report(amount: int, received: list[int] = received) -> None:
                if self._stopped.is_set():
                    raise EngineError("The download was stopped.")
                received.append(amount)
                advance(amount)

            try:
                return self._source(artifact, folder / str(attempt), report)
            except (OSError, RuntimeError) as error:  # what jgo and the client below it raise
                advance(-sum(received))
                failure = error
                if isinstance(error, OSError) and error.errno in DISK_TROUBLE:
                    raise
        raise EngineError(
            f"{artifact.filename} could not be downloaded, {ATTEMPTS} times "
            f"({type(failure).__name__}). Is there a network connection? "
            "Behind a proxy set HTTPS_PROXY, with its own certificate REQUESTS_CA_BUNDLE."
        ) from failure

    def _sweep(self) -> None:
        """Removes what killed runs left half fetched."""
        for folder in self.folder.glob("partial-*"):
            if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def reporting_disk_trouble(folder: Path) -> Iterator[None]:
    """Turns a refused or full disk into an error that says what to do.

    Raises:
        EngineError: the folder can't be written.
    """
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"{folder} can't be written: {error.strerror or error} ({error.filename or folder}). "
            "Free some space, or see whom the folder belongs to."
        ) from error


def digest(path: Path) -> str:
    """Returns the file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
