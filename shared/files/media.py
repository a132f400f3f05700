"""Which format a file has: decided once, where it comes in, by its bytes, name and declared type.

The bytes decide for PDF and for the Office formats, which nothing else looks like; then the name's
extension, because senders that know files only by name make the declared type of it, often wrongly;
then the declared type.
"""

import re
import zipfile
from enum import StrEnum
from io import BytesIO
from pathlib import PurePosixPath

from shared.errors import UnsupportedMediaType

_OFFICE = "application/vnd.openxmlformats-officedocument"


class Format(StrEnum):
    """The formats that are read, by their media types."""

    PLAIN = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    CSV = "text/csv"
    TSV = "text/tab-separated-values"
    JSON = "application/json"
    JSONL = "application/jsonl"
    MAIL = "message/rfc822"
    PDF = "application/pdf"
    DOCX = f"{_OFFICE}.wordprocessingml.document"
    XLSX = f"{_OFFICE}.spreadsheetml.sheet"
    PPTX = f"{_OFFICE}.presentationml.presentation"


EXTENSIONS = {
    ".txt": Format.PLAIN,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".eml": Format.MAIL,
    ".pdf": Format.PDF,
    ".docx": Format.DOCX,
    ".xlsx": Format.XLSX,
    ".pptx": Format.PPTX,
}
"""What a name's extension says, in lower case."""

_DECLARED = {
    **{each.value: each for each in Format},
    "text/x-markdown": Format.MARKDOWN,
    "application/xhtml+xml": Format.HTML,
    "application/csv": Format.CSV,
    "application/x-ndjson": Format.JSONL,
    "application/x-jsonlines": Format.JSONL,
}
_OLDER = {".doc": ".docx", ".xls": ".xlsx", ".ppt": ".pptx"}
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)

_PDF = re.compile(rb"%PDF-\d\.\d\s*[\r\n%]")
_ZIP = b"PK\x03\x04"
_ZIP_ENTRY = b"PK\x01\x02"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_FOLDERS = {"word": Format.DOCX, "xl": Format.XLSX, "ppt": Format.PPTX}

MOST_PARTS = 10_000
"""Files in an Office file; each takes memory before anything of it is read."""


def find_media_type(name: str, declared: str, data: bytes) -> str:
    """Returns the media type that a file is kept and read under, with its declared charset.

    Args:
        name: the file's.
        declared: what its sender says, maybe with a charset; empty where nobody says anything.
        data: its bytes.

    Raises:
        UnsupportedMediaType: it has no format that is read.
    """
    extension = PurePosixPath(name).suffix.lower()
    said = declared.partition(";")[0].strip().lower()
    format_ = _recognise(data) or EXTENSIONS.get(extension) or _DECLARED.get(said)
    if format_ is None:
        raise UnsupportedMediaType(_tell(name, extension, said))
    charset = _CHARSET.search(declared)
    return f"{format_}; charset={charset[1]}" if charset else format_.value


def split_media_type(media_type: str) -> tuple[Format | None, str | None]:
    """Returns the format and the charset that a file is kept under."""
    charset = _CHARSET.search(media_type)
    format_ = _DECLARED.get(media_type.partition(";")[0].strip().lower())
    return format_, charset[1] if charset else None


def is_encrypted_office(data: bytes) -> bool:
    """Tells whether the bytes are an Office file under a password."""
    return data.startswith(_OLE) and _ENCRYPTED_PACKAGE in data


def is_older_office(data: bytes) -> bool:
    """Tells whether the bytes are a file of Office 97 to 2003, whatever its name is."""
    return data.startswith(_OLE)


def _recognise(data: bytes) -> Format | None:
    if _PDF.match(data):
        return Format.PDF
    return _recognise_archive(data) if data.startswith(_ZIP) else None


def _recognise_archive(data: bytes) -> Format | None:
    if data.count(_ZIP_ENTRY) > MOST_PARTS:
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        return None
    folders = {name.partition("/")[0] for name in names}
    is_office = "[Content_Types].xml" in folders
    return next((_FOLDERS[each] for each in _FOLDERS if is_office and each in folders), None)


def _tell(name: str, extension: str, said: str) -> str:
    if extension in _OLDER:
        return f"{extension} files can't be read: save it as {_OLDER[extension]}"
    what = f"files of type {said}" if said and not extension else f"files like {name!r}"
    return f"{what} can't be read; those are read: {', '.join(EXTENSIONS)}"
