"""Files that are text already: plain text, Markdown, and what other formats are decoded from."""

import re

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.markdown import find_headings
from shared.errors import DocumentRefused
from shared.files.decode import Decoded, decode
from shared.files.front_matter import read_front_matter

_WORD = re.compile(r"\S")


def read_text(data: bytes, charset: str | None) -> Decoded:
    r"""Returns a file's text, every line end written as "\n".

    Raises:
        DocumentRefused: `encoding`, `broken` (it holds NUL) or `no_text`.
    """
    decoded = decode(data, charset)
    del data  # or text, bytes and a text with other line ends would be there at once
    text = decoded.text
    if not text or text.isspace():
        raise DocumentRefused("no_text", "The file is empty or holds nothing but white space.")
    if (position := text.find("\0")) >= 0:
        raise DocumentRefused(
            "broken",
            f"The file holds NUL at character {position}: it is no text, or UTF-16 without a byte "
            "order mark.",
        )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Decoded(text, decoded.encoding, decoded.guessed)


def read_plain(decoded: Decoded) -> ParsedDocument:
    """Returns a plain text as it is."""
    return ParsedDocument(text=decoded.text, encoding=decoded.encoding, guessed=decoded.guessed)


def read_markdown(decoded: Decoded) -> ParsedDocument:
    """Returns a Markdown text with its headings; its front matter is metadata, and not cut."""
    text, front = decoded.text, read_front_matter(decoded.text)
    if _WORD.search(text, front.start) is None:
        raise DocumentRefused("no_text", "The file holds nothing but front matter.")
    title = front.fields.get("title")
    return ParsedDocument(
        text=text,
        start=front.start,
        headings=find_headings(text, front.end),
        title=title if isinstance(title, str) and title.strip() else None,
        encoding=decoded.encoding,
        guessed=decoded.guessed,
        left_out=[f"front matter as metadata: {front.problem}"] if front.problem else [],
    )
