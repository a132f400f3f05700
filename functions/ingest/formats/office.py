"""Office files are archives of XML: what each of them has to pass before a library opens it."""

import posixpath
import re
import warnings
import zipfile
from collections.abc import Mapping
from io import BytesIO
from urllib.parse import unquote

from lxml import etree

from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused
from shared.files.media import MOST_PARTS, is_encrypted_office, is_older_office

_ENTRY = b"PK\x01\x02"
_MOST_RATIO = 200
_ALWAYS_ALLOWED = 10_000_000  # bytes, which are no harm whatever they were packed into
_READ_AT_ONCE = 1 << 20
# No part of an Office file has a document type; what entities can do is refused with it.
_DOCUMENT_TYPE = re.compile(rb"<\0?!\0?D\0?O\0?C\0?T\0?Y\0?P\0?E")
_STRICT = b"http://purl.oclc.org/ooxml/"
_CONTENT_TYPES = "[Content_Types].xml"
# Templates, shows and files with macros hold what the ordinary ones do, which libraries ask for.
_MAIN = b"application/vnd.openxmlformats-officedocument."
_ORDINARY = (
    (
        re.compile(
            rb"application/vnd\.ms-word\.(document|template)\.macroEnabled\.main\+xml"
            rb"|application/vnd\.openxmlformats-officedocument\.wordprocessingml\.template\.main\+xml"
        ),
        _MAIN + b"wordprocessingml.document.main+xml",
    ),
    (
        re.compile(
            rb"application/vnd\.ms-powerpoint\.(slideshow|template)\.macroEnabled\.main\+xml"
            rb"|application/vnd\.openxmlformats-officedocument\.presentationml\.(slideshow|template)"
            rb"\.main\+xml"
        ),
        _MAIN + b"presentationml.presentation.main+xml",
    ),
)


def check_package(data: bytes, options: Options) -> BytesIO:
    """Returns an Office file to be opened, once all of its parts were unpacked and counted.

    Raises:
        DocumentRefused: `password`, `expands_too_far`, `unsupported` or `broken`.
    """
    if is_encrypted_office(data):
        raise DocumentRefused("password", "The file is protected by a password.")
    if is_older_office(data):
        raise DocumentRefused(
            "unsupported", "The file is in the format of Office 97: save it in today's."
        )
    if data.count(_ENTRY) > MOST_PARTS:
        raise DocumentRefused("expands_too_far", f"The file has more than {MOST_PARTS} parts.")
    most = min(options.most_expanded, max(len(data) * _MOST_RATIO, _ALWAYS_ALLOWED))
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = archive.infolist()
        _check_size(sum(part.file_size for part in parts), most)
        size = 0
        for part in parts:
            if part.flag_bits & 1:
                raise DocumentRefused("password", "Parts of the file are protected by a password.")
            size += _check_part(archive, part, most - size)
    return _mend(BytesIO(data))


def _mend(package: BytesIO) -> BytesIO:
    """Takes away what libraries stumble over, and the programs that write such files do not."""
    with warnings.catch_warnings(), zipfile.ZipFile(package, "a") as archive:
        warnings.simplefilter("ignore")  # of a part that is there twice: the last one counts
        named = {_fold(part): part for part in archive.namelist()}
        for part in set(archive.namelist()):
            if part != _CONTENT_TYPES and not part.endswith(".rels"):
                continue
            written = archive.read(part)
            mended = _write_types(written) if part == _CONTENT_TYPES else _tie(part, written, named)
            if mended != written:
                archive.writestr(part, mended)
    package.seek(0)
    return package


def _write_types(types: bytes) -> bytes:
    for kinds, ordinary in _ORDINARY:
        types = kinds.sub(ordinary, types)
    return types


def _tie(name: str, relations: bytes, named: Mapping[str, str]) -> bytes:
    """Returns a part's relations to the parts that there are, by the names that these have.

    Names are the same whatever their case and however they are escaped, but for libraries.
    """
    folder = posixpath.dirname(posixpath.dirname(name))
    root = etree.fromstring(relations)
    is_mended = False
    for relation in list(root):
        if relation.get("TargetMode") == "External":
            continue
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))[1:]
        part = named.get(_fold(target))
        if part is None:
            root.remove(relation)
        elif part != target:
            relation.set("Target", f"/{part}")
        is_mended |= part != target
    return etree.tostring(root) if is_mended else relations


def _fold(part: str) -> str:
    return unquote(part).lower()


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, most: int) -> int:
    is_xml = part.filename.lower().endswith((".xml", ".rels", ".vml"))
    size, tail = 0, b""
    with archive.open(part) as stream:
        while piece := stream.read(_READ_AT_ONCE):
            size += len(piece)
            _check_size(size, most)
            if is_xml and _DOCUMENT_TYPE.search(tail + piece):
                raise DocumentRefused(
                    "broken",
                    f"The part {part.filename!r} declares a document type, which none may.",
                )
            if is_xml and size == len(piece) and _STRICT in piece[:4096]:
                raise DocumentRefused(
                    "unsupported",
                    "The file is in the format Strict Open XML: save it in the ordinary one.",
                )
            tail = piece[-20:]
    return size


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise DocumentRefused("expands_too_far", f"The file expands to more than {most} bytes.")
