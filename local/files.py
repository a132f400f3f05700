"""Files on this machine as documents: which ones, their text, and the metadata beside them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions.ingest.formats.plain import read_text
from shared.errors import DocumentRefused, InvalidRequest, WinnowError
from shared.files.sidecar import SIDECAR, parse_sidecar
from shared.text import check_text

SUFFIXES = {".txt", ".md", ".markdown"}


class PathUnusable(WinnowError):
    """A path that was named is not there, or two files would be one document."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest; its external id is its path below the folder that was named."""

    path: Path
    external_id: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What was found below some paths.

    Attributes:
        left_out: how many files of a suffix are of no kind that can be read.
    """

    files: Sequence[SourceFile]
    left_out: Counter[str]


def find_files(paths: Sequence[Path]) -> Selection:
    """Returns the files that paths name: themselves, or all below that can be read, in order.

    Hidden files and folders below a path are passed over, sidecars belong to their files.

    Raises:
        PathUnusable: naming the path.
    """
    found: dict[str, Path] = {}
    left_out: Counter[str] = Counter()
    for path in paths:
        for file in _find(path, left_out):
            earlier = found.setdefault(file.external_id, file.path)
            if earlier != file.path:
                raise PathUnusable(
                    f"{earlier} and {file.path} would both be {file.external_id!r}: "
                    "name a folder above both."
                )
    return Selection([SourceFile(path, id_) for id_, path in found.items()], left_out)


def read_document(file: SourceFile) -> dict[str, Any]:
    """Returns a file as the body of a document.

    Raises:
        DocumentRefused: it can't be read, or the sidecar can't.
    """
    sidecar = file.path.with_name(file.path.name + SIDECAR)
    try:
        data = file.path.read_bytes()
        metadata = parse_sidecar(sidecar.read_bytes()) if sidecar.is_file() else {}
        body = {
            "name": file.path.name,
            "external_id": file.external_id,
            "text": read_text(data, None).text,
            "metadata": metadata,
        }
        check_text(body)
    except OSError as error:
        raise DocumentRefused("broken", error.strerror or str(error)) from error
    except InvalidRequest as error:
        raise DocumentRefused("broken", str(error)) from error
    except ValueError as error:
        raise DocumentRefused("sidecar", f"{sidecar.name}: {error}") from error
    return body


def _find(path: Path, left_out: Counter[str]) -> Iterator[SourceFile]:
    if path.is_file():
        yield SourceFile(path, path.name)
        return
    if not path.is_dir():
        raise PathUnusable(f"There is no file or folder {path}.")
    for folder, folders, names in path.walk():
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or name.endswith(SIDECAR):
                continue
            file = folder / name
            if file.suffix.lower() in SUFFIXES:
                yield SourceFile(file, file.relative_to(path).as_posix())
            else:
                left_out[file.suffix.lower() or "none"] += 1
