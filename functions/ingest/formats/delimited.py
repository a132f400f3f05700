"""CSV and TSV: every cell is the text that it is."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import islice

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.options import Options
from functions.ingest.formats.plain import read_text
from functions.ingest.formats.tables import write_table

CALLED = "CSV"

_DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 50  # rows that tell the delimiter
_SAID = re.compile(r"sep=([\t,;:|^~])\n", re.IGNORECASE)  # a first line by which Excel is told it


def read(data: bytes, charset: str | None, options: Options) -> ParsedDocument:
    """Returns the rows of a file, each with the names of its columns."""
    csv.field_size_limit(sys.maxsize)
    decoded = read_text(data, charset)
    draft = Draft(options)
    said = _SAID.match(decoded.text)
    delimiter = said[1] if said else _find_delimiter(decoded.text)
    write_table(draft, _list_rows(decoded.text[said.end() if said else 0 :], delimiter))
    document = draft.finish("The table has no cell that is not blank.")
    return replace(document, encoding=decoded.encoding, guessed=decoded.guessed)


def _list_rows(text: str, delimiter: str) -> Iterator[Sequence[str]]:
    # Not `splitlines`, which parts rows within quotes, and at a form feed or U+2028.
    # A quote after a blank quotes too: blanks around a cell are no part of it.
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def _find_delimiter(text: str) -> str:
    """Returns the delimiter by which the most rows have the same number of cells, two or more.

    Of those that do alike a tab, as no text has them, else the one that makes the most cells.
    """
    return max(_DELIMITERS, key=lambda delimiter: _count_alike(text, delimiter))


def _count_alike(text: str, delimiter: str) -> tuple[int, bool, int]:
    widths = Counter(len(row) for row in islice(_list_rows(text, delimiter), _LOOKED_AT) if row)
    width, rows = max(widths.items(), key=lambda each: (each[1], each[0]), default=(1, 0))
    return (rows, delimiter == "\t", width) if width > 1 else (0, False, 0)
