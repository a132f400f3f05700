"""A home: the folder where one embedded stack keeps everything, used by one process at a time."""

import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.account import Account, is_open, unprivileged_account
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
        home = cls(folder, unprivileged_account())
        with reporting_disk_trouble(folder):
            folder.mkdir(parents=True, exist_ok=True)
            home.logs.mkdir(exist_ok=True)
            home._make_engines()
        return home

    @property
    def logs(self) -> Path:
        """The folder of the engines' logs."""
        return self.folder / "logs"

    @property
    def engines(self) -> Path:
        """The folder of the engines' own files, its real path."""
        return (self.folder / "engines").resolve()

    def _make_engines(self) -> None:
        link = self.folder / "engines"
        if link.exists():
            return
        if self.account is None or is_open(self.folder):
            link.mkdir()
            return
        link.unlink(missing_ok=True)
        ELSEWHERE.mkdir(parents=True, exist_ok=True)
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
                    f"{self.folder} is in use by process {self.read_owner()}: "
                    "stop that one (winnow stop), or choose another folder with --home."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield
            file.truncate(0)
