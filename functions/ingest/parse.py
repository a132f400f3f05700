"""Turns a file into the text that is chunked and searched."""

from collections.abc import Callable

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.plain import read_plain, read_text
from functions.ingest.reader import FileReader
from shared.errors import DocumentRefused
from shared.files.media import Format, split_media_type


def parse(load: Callable[[], bytes], media_type: str, reader: FileReader) -> ParsedDocument:
    """Returns a file's text, headings and pages.

    Args:
        load: returns the file's bytes.
        media_type: as `shared.files.media` decided, maybe with a charset.
        reader: reads what is more than text.

    Raises:
        DocumentRefused: the file can't be used.
    """
    format_, charset = split_media_type(media_type)
    if format_ is None:
        raise DocumentRefused("unsupported", f"Files of type {media_type} can't be read.")
    if format_ is Format.PLAIN:
        return read_plain(read_text(load(), charset))
    return reader.read(format_, load, charset)
