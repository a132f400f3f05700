"""Files on this machine as documents: which ones, their bytes, and the metadata beside them."""

import errno
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from shared.errors import DocumentRefused, InvalidRequest, UnsupportedMediaType, WinnowError
from shared.files.front_matter import read_own_metadata
from shared.files.media import EXTENSIONS, find_media_type
from shared.files.sidecar import SIDECAR, parse_sidecar
from shared.metadata.fields import is_same
from shared.model import JsonObject
from shared.text import check_text

_PASSED_OVER = (".", "~$")  # hidden files, and who has which Office file open


class PathUnusable(WinnowError):
    """A path that was named is not there, or two files would be one document."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest, or a folder that can't be read: it is told as a file would be.

    Attributes:
        external_id: its path below the folder that was named.
        trouble: why it can't be read, where that is known already.
    """

    path: Path
    external_id: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """What was found below some paths.

    Attributes:
        left_out: how many files of a suffix are of no kind that can be read.
        lone_sidecars: sidecars whose files are not there, by their paths below the folder.
    """

    files: Sequence[SourceFile]
    left_out: Counter[str]
    lone_sidecars: Sequence[str]


def find_files(paths: Sequence[Path]) -> Selection:
    """Returns the files that paths name: themselves, or all below that can be read, in order.

    Hidden files and folders below a path are passed over, as are those by which Office programs
    tell that a file is open; sidecars belong to their files.

    Raises:
        PathUnusable: naming the path.
    """
    found: dict[str, SourceFile] = {}
    left_out: Counter[str] = Counter()
    lone: list[str] = []
    for path in paths:
        for file in _find(path, left_out, lone):
            earlier = found.setdefault(file.external_id, file)
            if earlier.path != file.path:
                raise PathUnusable(
                    f"{earlier.path} and {file.path} would both be {file.external_id!r}: "
                    "name a folder above both."
                )
    return Selection(list(found.values()), left_out, lone)


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file as it is sent.

    Attributes:
        media_type: as its bytes and its name say.
        metadata: its sidecar's.
    """

    name: str
    external_id: str
    media_type: str
    data: bytes = field(repr=False)
    metadata: JsonObject

    def is_same(self, known: Mapping[str, Any]) -> bool:
        """Tells whether sending it would change nothing of a document that the API shows."""
        own = read_own_metadata(self.data, self.media_type)
        return (
            known["content_hash"] == sha256(self.data).hexdigest()
            and known["media_type"] == self.media_type
            and known["name"] == self.name
            and known["source"] is None
            and is_same(known["metadata"], {**own, **self.metadata})
        )


def read_file(file: SourceFile) -> LocalFile:
    """Returns a file with its sidecar's metadata.

    Raises:
        DocumentRefused: it can't be read, the sidecar can't, or it is of no format that is read.
    """
    sidecar = file.path.with_name(file.path.name + SIDECAR)
    if file.trouble:
        raise DocumentRefused("broken", file.trouble)
    try:
        check_text(file.external_id, "its name")
        data = _read(file.path)
        return LocalFile(
            file.path.name,
            file.external_id,
            find_media_type(file.path.name, "", data),
            data,
            _read_sidecar(sidecar),
        )
    except OSError as error:
        raise DocumentRefused("broken", _explain(error)) from error
    except UnsupportedMediaType as error:
        raise DocumentRefused("unsupported", str(error)) from error
    except InvalidRequest as error:
        raise DocumentRefused("broken", str(error)) from error
    except ValueError as error:
        raise DocumentRefused("sidecar", f"{sidecar.name}: {error}") from error


def measure(file: SourceFile) -> int:
    """Returns a file's size in bytes; 0 where it can't be told, which reading it tells."""
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _read(path: Path) -> bytes:
    """Returns a file's bytes; raises `DocumentRefused` for a pipe or a device: it may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise DocumentRefused("broken", f"{path.name} is no regular file")
    return path.read_bytes()


def _read_sidecar(path: Path) -> JsonObject:
    try:
        return parse_sidecar(_read(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # a file's name may be so long that none fits
            return {}
        raise


def _find(path: Path, left_out: Counter[str], lone: list[str]) -> Iterator[SourceFile]:
    if path.is_file():
        yield SourceFile(path, path.name)
        return
    if not path.is_dir():
        raise PathUnusable(f"There is no file or folder {path}.")
    unreadable: list[OSError] = []
    for folder, folders, names in path.walk(on_error=unreadable.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        there = set(names)
        for name in sorted(names):
            if name.startswith(_PASSED_OVER):
                continue
            file = folder / name
            external_id = file.relative_to(path).as_posix()
            if name.endswith(SIDECAR):
                if name.removesuffix(SIDECAR) not in there:
                    lone.append(external_id)
            elif file.suffix.lower() in EXTENSIONS:
                yield SourceFile(file, external_id)
            else:
                left_out[file.suffix.lower() or "none"] += 1
    for error in unreadable:
        closed = Path(error.filename)
        if closed == path:
            raise PathUnusable(f"{path} can't be read: {_explain(error)}.")
        yield SourceFile(closed, closed.relative_to(path).as_posix(), _explain(error))


def _explain(error: OSError) -> str:
    return error.strerror or str(error)
