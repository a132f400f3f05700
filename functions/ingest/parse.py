"""Turns a file into the text that is chunked and searched: plain text and Markdown."""

import re
from pathlib import PurePosixPath

from functions.ingest.decode import decode
from functions.ingest.document import ParsedDocument
from functions.ingest.markdown import find_headings
from shared.errors import DocumentRefused

_MARKDOWN = "text/markdown"
_PLAIN = "text/plain"
_BY_MEDIA_TYPE = {_PLAIN: _PLAIN, _MARKDOWN: _MARKDOWN, "text/x-markdown": _MARKDOWN}
_BY_EXTENSION = {".txt": _PLAIN, ".md": _MARKDOWN, ".markdown": _MARKDOWN}
# What clients and stores write when they don't know.
_SAYS_NOTHING = {"", "application/octet-stream", "binary/octet-stream"}
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)


def parse(data: bytes, media_type: str, name: str) -> ParsedDocument:
    r"""Returns a file's text and headings.

    Line ends are written as "\n", once and here: this is the text that every span points into.
    Nothing else changes.

    Args:
        data: the file's bytes.
        media_type: as declared, maybe with a charset; where it says nothing, the name's extension
            decides.
        name: the file's name.

    Raises:
        DocumentRefused: `unsupported` (neither text nor Markdown), `encoding`, `broken` (holds NUL)
            or `no_text`.
    """
    kind = _find_kind(media_type, name)
    charset = _CHARSET.search(media_type)
    text = decode(data, charset[1] if charset else None)
    _refuse_unusable(text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return ParsedDocument(text, find_headings(text) if kind == _MARKDOWN else ())


def _find_kind(media_type: str, name: str) -> str:
    declared = media_type.partition(";")[0].strip().lower()
    if declared in _SAYS_NOTHING:
        kind = _BY_EXTENSION.get(PurePosixPath(name).suffix.lower())
    else:
        kind = _BY_MEDIA_TYPE.get(declared)
    if kind is None:
        what = f"Files of type {declared}" if declared else f"Files like {name!r}"
        raise DocumentRefused(
            "unsupported",
            f"{what} can't be read: send plain text (.txt) or Markdown (.md, .markdown).",
        )
    return kind


def _refuse_unusable(text: str) -> None:
    if not text or text.isspace():
        raise DocumentRefused("no_text", "The file is empty or holds nothing but white space.")
    if (position := text.find("\0")) >= 0:
        raise DocumentRefused(
            "broken",
            f"The file holds NUL at character {position}: it is no text, or UTF-16 without a byte "
            "order mark.",
        )
