"""Files of a form: what is sent beside them, and which of them are sidecars of others."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from functions.manage.bodies import FileBody
from shared.errors import InvalidRequest
from shared.files.sidecar import SIDECAR, parse_sidecar
from shared.http.forms import File
from shared.http.problems import problems_of
from shared.text import check_text


def read_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """Returns the fields of a form as JSON would have them; raises `InvalidRequest`."""
    read: dict[str, Any] = dict(fields)
    if re.fullmatch(r"\d{1,20}", read.get("version", ""), re.ASCII):
        read["version"] = int(read["version"])
    if "metadata" in read:
        try:
            read["metadata"] = json.loads(read["metadata"])
        except (ValueError, RecursionError) as error:
            raise InvalidRequest.at("/metadata", "is not JSON") from error
        check_text(read["metadata"], "/metadata")
    return read


def parse_file(file: File, beside: Mapping[str, Any], pointer: str = "") -> FileBody:
    """Returns what is said of a file; where no name is, it is the file's own, without folders.

    Raises:
        InvalidRequest: with pointers below `pointer`.
    """
    name = re.split(r"[/\\]", file.name)[-1]
    try:
        return FileBody.model_validate({"name": name, **beside})
    except ValidationError as error:
        raise problems_of(error.errors(), pointer) from error


def parse_one_of_many(file: File, sidecar: File | None, pointer: str) -> FileBody:
    """Returns what is said of a file among others: its name is its external id.

    Raises:
        InvalidRequest: with pointers below `pointer`.
    """
    if sidecar is None and file.name.endswith(SIDECAR):
        raise InvalidRequest.at(pointer, f"{file.name} belongs to no file that was sent with it")
    try:
        metadata = None if sidecar is None else parse_sidecar(sidecar.data)
    except ValueError as error:
        raise InvalidRequest.at(pointer, f"{file.name}{SIDECAR}: {error}") from error
    return parse_file(file, {"external_id": file.name, "metadata": metadata}, pointer)


def pair_sidecars(files: Sequence[File]) -> list[tuple[File, File | None]]:
    """Returns the files in their order, each with its sidecar, where that is among them.

    Raises:
        InvalidRequest: two have one name, so that the later would silently replace the other.
    """
    names = Counter(file.name for file in files)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise InvalidRequest.at("/file", f"two files have the name {twice[0]!r}")
    sidecars = {file.name: file for file in files if file.name.removesuffix(SIDECAR) in names}
    return [
        (file, sidecars.get(file.name + SIDECAR))
        for file in files
        if not (file.name.endswith(SIDECAR) and file.name in sidecars)
    ]
