"""Plain text, and the text that other formats are written in."""

from functions.ingest.document import ParsedDocument
from shared.errors import DocumentRefused
from shared.files.decode import Decoded, decode


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
