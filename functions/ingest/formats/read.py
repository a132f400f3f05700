"""A file of any format but plain text → `ParsedDocument`; whatever a library raises has a reason.

Runs in a process of its own, for the libraries are many and files come from anywhere: see
`functions.ingest.reader`.
"""

from importlib import import_module

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused
from shared.files.media import Format

_MODULES = {
    Format.MARKDOWN: "markdown",
    Format.HTML: "html",
    Format.CSV: "delimited",
    Format.TSV: "delimited",
    Format.JSON: "records",
    Format.JSONL: "records",
    Format.MAIL: "mail",
    Format.PDF: "pdf",
    Format.DOCX: "word",
    Format.XLSX: "sheets",
    Format.PPTX: "slides",
}


def read(format_: Format, data: bytes, charset: str | None, options: Options) -> ParsedDocument:
    """Returns what a file holds.

    Args:
        format_: any but plain text.
        data: its bytes.
        charset: what the sender says they are written in, where they are text.
        options: what bounds it.

    Raises:
        DocumentRefused: it can't be used; the reason is for people.
    """
    if not data:
        raise DocumentRefused("no_text", "The file is empty.")
    # Where it is needed: each library takes long to load, and most files are of one format.
    module = import_module(f"functions.ingest.formats.{_MODULES[format_]}")
    try:
        document: ParsedDocument = module.read(data, charset, options)
    except DocumentRefused:
        raise
    except MemoryError as error:
        raise DocumentRefused(
            "expands_too_far", "Reading the file takes more memory than there is for one file."
        ) from error
    except RecursionError as error:
        raise DocumentRefused("broken", "The file nests too deep to be read.") from error
    except Exception as error:  # libraries raise anything over a broken file
        raise DocumentRefused(
            "broken", f"The file can't be read: it is damaged, or no {module.CALLED} file."
        ) from error
    return document
