"""A home: the folder where one embedded stack keeps everything, used by one process at a time."""

import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from local.account import Account, is_open, share, unprivileged_account
from local.artifacts import reporting_disk_trouble
from local.errors import EngineError

ROOT_HOME = Path("/var/lib/winnow")
ELSEWHERE = Path("/var/lib/winnow-engines")


def default_home() -> Path:
    """Returns the home to use when none is named: below XDG_DATA_HOME or ~/.local/share.

    Root's is in /var/lib, where the engines' account can reach it.
    """
    if data := os.environ.get("XDG_DATA_HOME"):
        return Path(data) / "winnow"
    return ROOT_HOME if os.geteuid() == 0 else Path.home() / ".local" / "share" / "winnow"


@dataclass(frozen=True, slots=True)
class Home:
    """A home folder and the account its engines run as.

    `engines/` holds what the engines own, `logs/` what they say, `lock` who uses the home. When
    root's home is closed to the engines' account, `engines` is a link to a folder that is not.
    """

    folder: Path
    account: Account | None

    @classmethod
    def open(cls, folder: Path | None = None) -> "Home":
        """Returns the home, made if it is new.

        Raises:
            EngineError: it can't be made or written.
        """
        folder = (folder or default_home()).expanduser().resolve()
        if ":" in str(folder):
            raise EngineError(f"{folder}: Java can't use a home whose path holds a colon.")
        home = cls(folder, unprivileged_account())
        with reporting_disk_trouble(folder):
            make_open_folder(folder)
            home.logs.mkdir(exist_ok=True)
            home._make_engines()
        return home

    @property
    def logs(self) -> Path:
        """The folder of the engines' logs."""
        return self.folder / "logs"

    def share_package(self, name: str, *folders: str) -> Path:
        """Returns where the engines' account can read these folders of a Python package.

        Args:
            name: the package's name; importing it is not needed.
            folders: paths that lie side by side in the environment.
        """
        package = distribution(name)
        sources = [Path(str(package.locate_file(folder))) for folder in folders]
        if self.account is None:
            return sources[0].parent
        runtime = self.engines / "runtime"
        make_open_folder(runtime)
        return share(sources, runtime / f"{name}-{package.version}")

    @property
    def engines(self) -> Path:
        """The folder of the engines' own files, its real path."""
        return (self.folder / "engines").resolve()

    def _make_engines(self) -> None:
        link = self.folder / "engines"
        if link.exists():
            return
        if self.account is None or is_open(self.folder):
            make_open_folder(link)
            return
        link.unlink(missing_ok=True)
        make_open_folder(ELSEWHERE)
        elsewhere = Path(tempfile.mkdtemp(dir=ELSEWHERE, prefix=f"{self.folder.name}-"))
        elsewhere.chmod(0o755)
        link.symlink_to(elsewhere)

    def read_secret(self, name: str) -> str:
        """Returns the home's secret of this name, made up at its first use; its owner's alone."""
        path = self.folder / name
        with reporting_disk_trouble(path):
            if not path.exists():
                unfinished = path.with_name(name + ".new")
                unfinished.touch(mode=0o600)
                unfinished.write_text(secrets.token_urlsafe(24), encoding="ascii")
                unfinished.replace(path)
            return path.read_text(encoding="ascii")

    def read_owner(self) -> int | None:
        """Returns the pid that uses the home now."""
        try:
            with (self.folder / "lock").open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(file.read() or 0) or None
        except FileNotFoundError:
            pass
        return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps every other process out of the home, at most until this process ends.

        Raises:
            EngineError: another process uses the home; it is named.
        """
        with reporting_disk_trouble(self.folder), (self.folder / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise EngineError(
                    f"{self.folder} is in use by process {self.read_owner() or '(just starting)'}: "
                    "stop that one (winnow stop), or choose another folder with --home."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield


def make_open_folder(folder: Path) -> None:
    """Makes the folder unless it is there, for all to enter whatever this process's umask."""
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o755)
