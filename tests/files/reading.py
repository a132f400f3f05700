"""What a file of any format is read as, in this process."""

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.options import Options
from functions.ingest.formats.plain import read_plain, read_text
from functions.ingest.formats.read import read
from shared.errors import DocumentRefused
from shared.files.media import Format


def read_as_plain(data: bytes) -> ParsedDocument:
    return read_plain(read_text(data, None))


def read_as_markdown(data: bytes) -> ParsedDocument:
    return read_file(Format.MARKDOWN, data)


def read_file(
    format_: Format,
    data: bytes,
    charset: str | None = None,
    *,
    include_hidden: bool = False,
    most_expanded: int = 100_000_000,
) -> ParsedDocument:
    options = Options(most_expanded=most_expanded, include_hidden=include_hidden)
    return read(format_, data, charset, options)


def refuse(format_: Format, data: bytes, *, most_expanded: int = 100_000_000) -> DocumentRefused:
    """Returns why a file can't be used."""
    try:
        document = read_file(format_, data, most_expanded=most_expanded)
    except DocumentRefused as refusal:
        return refusal
    raise AssertionError(f"read as {document.text[:100]!r}")
