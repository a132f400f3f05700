"""Who the engines run as: ourselves, or an unprivileged user when we are root.

Both engines refuse to run as root. The user `nobody` is on every Linux machine; what it has to
read and can't (a home or an environment below a closed folder such as /root) is shared with it
without opening that folder.
"""

import os
import pwd
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local.errors import EngineError

USER = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """A user and group by number."""

    uid: int
    gid: int

    def own(self, *paths: Path) -> None:
        """Gives these files and folders to this account."""
        for path in paths:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def unprivileged_account() -> Account | None:
    """Returns whom to run the engines as; None when we are not root: as ourselves.

    Raises:
        EngineError: we are root on a machine without the user.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        raise EngineError(
            f"The engines can't run as root, and there is no user {USER} to run them as: "
            "start Winnow as an ordinary user."
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def is_open(path: Path) -> bool:
    """Returns whether any user may read this file or folder, by its and its parents' modes."""
    path = path.resolve()
    reachable = all(parent.stat().st_mode & 0o001 for parent in path.parents)
    wanted = 0o005 if path.is_dir() else 0o004
    return reachable and path.stat().st_mode & wanted == wanted


def share(sources: Sequence[Path], target: Path) -> Path:
    """Returns a folder where any user may read these trees, each under its own name.

    That is the folder they lie in, or else the target with copies made once; a copy costs no space
    where hard links are possible.
    """
    if all(is_open(source) for source in sources):
        return sources[0].parent
    if not target.exists():
        unfinished = target.with_name(target.name + ".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        for source in sources:
            shutil.copytree(source, unfinished / source.name, copy_function=link)
        open_to_all(unfinished)
        unfinished.rename(target)
    return target


def open_to_all(folder: Path) -> None:
    """Lets any user read the folder and all that is in it, and run what its owner may run."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if mode & 0o100 else 0o444))


def link(source: str | Path, target: str | Path) -> None:
    """Makes the file appear at the target too: as a hard link or, where that can't be, as a copy.

    A file that not everybody may read is copied, so that opening the copy leaves it closed.
    """
    source = Path(source).resolve()
    try:
        if source.stat().st_mode & 0o004:
            os.link(source, target)
            return
    except OSError:
        pass  # another file system, or one without links
    shutil.copy2(source, target)
