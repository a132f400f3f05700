"""Bodies of multipart/form-data (RFC 7578): named texts, and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser
from starlette.types import Scope

from shared.errors import InvalidRequest
from shared.text import check_text

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks  # there is none at run time

MEDIA_TYPE = "multipart/form-data"
FILE = "file"
"""The name of every part that is a file."""

_PLAIN = {"", "7bit", "8bit", "binary"}
"""Transfer encodings that leave a part's bytes as they are; forms have no other."""

MOST_PARTS = 1_100
"""500 files, each with its sidecar, and some fields."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a form.

    Attributes:
        name: as it was sent, maybe with folders.
        media_type: that its sender declared, maybe with a charset; empty where none is.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Form:
    """What a form holds: its fields by name, and its files in their order."""

    fields: Mapping[str, str]
    files: Sequence[File]


def is_form(scope: Scope) -> bool:
    """Tells whether a request says that its body is a form."""
    return _content_type(scope).partition(";")[0].strip().lower() == MEDIA_TYPE


def parse_form(scope: Scope, body: bytes) -> Form:
    """Returns a form.

    Raises:
        InvalidRequest: it is broken off or no form, names a part twice, or holds text that is none.
    """
    parts = _Parts()
    boundary = _read_parameters(_content_type(scope)).get("boundary", "")
    try:
        parser = MultipartParser(boundary.encode("latin-1"), parts.list_callbacks())
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError) as error:
        raise InvalidRequest.at("", "is no multipart/form-data of its boundary") from error
    if not parts.is_complete:
        raise InvalidRequest.at("", "breaks off before the last boundary of multipart/form-data")
    return _sort(parts.found)


def _sort(found: Sequence["_Part"]) -> Form:
    fields: dict[str, str] = {}
    files: list[File] = []
    for part in found:
        name, file_name = part.read_names()
        if part.read_header("content-transfer-encoding").strip().lower() not in _PLAIN:
            raise InvalidRequest.at(f"/{name}", "is encoded for mail; send its bytes as they are")
        if file_name is not None:
            if name != FILE:
                raise InvalidRequest.at(f"/{name}", f"a file goes into a part named {FILE!r}")
            files.append(File(file_name, part.read_header("content-type"), b"".join(part.data)))
        elif name == FILE:
            raise InvalidRequest.at(f"/{FILE}", "has no file name")
        elif name in fields:
            raise InvalidRequest.at(f"/{name}", "is there twice")
        else:
            fields[name] = _decode(b"".join(part.data), f"/{name}")
    return Form(fields, files)


@dataclass(slots=True)
class _Part:
    headers: dict[bytes, bytes] = field(default_factory=dict)
    data: list[bytes] = field(default_factory=list)

    def read_header(self, name: str) -> str:
        return _decode(self.headers.get(name.encode(), b""), f"header {name} of a part")

    def read_names(self) -> tuple[str, str | None]:
        """Returns the part's name, and the file's where it is one."""
        parameters = _read_parameters(self.read_header("content-disposition"))
        if "name" not in parameters:
            raise InvalidRequest.at("", "a part of multipart/form-data has no name")
        check_text(list(parameters.values()), "file name")
        return parameters["name"], parameters.get("filename")


class _Parts:
    """Collects what the parser finds."""

    def __init__(self) -> None:
        self.found: list[_Part] = []
        self.is_complete = False
        self._header: tuple[list[bytes], list[bytes]] = ([], [])

    def list_callbacks(self) -> "MultipartCallbacks":
        """Returns what the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_begin": self._begin_header,
            "on_header_field": lambda data, start, end: self._header[0].append(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].append(data[start:end]),
            "on_header_end": self._end_header,
            "on_part_data": lambda data, start, end: self.found[-1].data.append(data[start:end]),
            "on_end": self._end,
        }

    def _begin(self) -> None:
        if len(self.found) == MOST_PARTS:
            raise InvalidRequest.at("", f"has more than {MOST_PARTS} parts")
        self.found.append(_Part())

    def _begin_header(self) -> None:
        self._header = ([], [])

    def _end_header(self) -> None:
        name, value = (b"".join(each) for each in self._header)
        self.found[-1].headers[name.lower()] = value

    def _end(self) -> None:
        self.is_complete = True


def _content_type(scope: Scope) -> str:
    values = [value for name, value in scope["headers"] if name == b"content-type"]
    return values[0].decode("latin-1") if values else ""


def _read_parameters(header: str) -> dict[str, str]:
    """Returns the parameters of a header; `filename*` (RFC 5987) is a filename like any."""
    message = Message()
    message["x"] = header
    found = message.get_params(header="x") or []
    return {name.lower(): collapse_rfc2231_value(value) for name, value in found[1:]}


def _decode(value: bytes, where: str) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest.at(where, f"is not UTF-8 at byte {error.start}") from error
    check_text(text, where)
    return text
