"""XLSX: the sheets of a workbook, each row with the names of its columns."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from itertools import chain
from typing import Any

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.office import check_package
from functions.ingest.formats.options import Options
from functions.ingest.formats.tables import write_table
from functions.ingest.formats.workbook import Book, Sheet
from shared.errors import DocumentRefused

CALLED = "XLSX"

_MOST_ROW, _MOST_COLUMN = 1_048_576, 16_384
_DIGITS = 15  # of a number, as spreadsheets show them
_ESCAPED_BREAK = re.compile("_x000[9AD]_", re.IGNORECASE)  # which openpyxl leaves as it is


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the rows of the sheets; a sheet's name is a heading.

    What a sheet hides is left out and reported. Formulas count as the value that was saved with
    them.
    """
    draft = Draft(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl would not write back
        book = Book(check_package(data, options))
        if book.has_comments:
            draft.leave_out("comments")
        for sheet in book.sheets:
            if sheet.is_hidden and not options.include_hidden:
                draft.leave_out(f"hidden sheet {sheet.title!r}")
                continue
            rows = _list_rows(book, sheet, draft)
            if (first := next(rows, None)) is not None:
                draft.add_heading(1, sheet.title)
                write_table(draft, chain([first], rows))
    return draft.finish("The workbook has no cell that is not blank.")


def _list_rows(book: Book, sheet: Sheet, draft: Draft) -> Iterator[Sequence[str]]:
    """Yields the rows that have a cell; what the sheet says of its own size is not believed.

    This goes below openpyxl's own rows, which would be filled up with empty cells to the widest and
    say nothing of what is hidden.
    """
    shows_all = draft.options.include_hidden
    parser, merged = book.open_cells(sheet), book.find_merged(sheet)
    carried: dict[int, tuple[str, int]] = {}  # text and last row by column
    for number, cells in parser.parse():
        row = parser.row_dimensions.pop(str(number), {})
        columns = () if shows_all else list(_list_hidden(parser.column_dimensions))
        filled = {cell["column"]: text for cell in cells if (text := _write(cell, book))}
        if not filled:
            continue
        if number > _MOST_ROW or max(filled) > _MOST_COLUMN:
            raise DocumentRefused("broken", "A sheet has cells beyond the last that there is.")
        if _is_hidden(row) and not shows_all:
            draft.leave_out(f"hidden rows of sheet {sheet.title!r}")
            continue
        for first, last in columns:
            for column in [each for each in filled if first <= each <= last]:
                del filled[column]
                draft.leave_out(f"hidden columns of sheet {sheet.title!r}")
        carried = {column: each for column, each in carried.items() if each[1] >= number}
        for column, last in merged.get(number, ()):
            if column in filled:
                carried[column] = (filled[column], last)
        if filled:  # a cell that reaches over rows is part of each
            filled = {column: text for column, (text, _) in carried.items()} | filled
        yield [filled.get(column, "") for column in range(1, max(filled, default=0) + 1)]
    if parser.lacks_values:
        draft.leave_out(f"formulas of sheet {sheet.title!r} that were saved without their values")


def _list_hidden(columns: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[int, int]]:
    for each in columns.values():
        if _is_hidden(each):
            yield int(each["min"]), int(each["max"])


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return attributes.get("hidden") in {"1", "true"}


def _write(cell: Mapping[str, Any], book: Book) -> str:
    """Returns a value as text: numbers and booleans as JSON has them, dates as ISO 8601 does."""
    value = cell["value"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and book.is_percentage(cell["style_id"]):
        return f"{value * 100:.{_DIGITS}g}%"
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, datetime):
        is_day = value.time() == time()
        return value.date().isoformat() if is_day else value.isoformat(" ", "seconds")
    return "" if value is None else _ESCAPED_BREAK.sub("\n", str(value)).strip()
