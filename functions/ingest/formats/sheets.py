"""XLSX: the sheets of a workbook, each row with the names of its columns."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from itertools import chain
from typing import Any

from openpyxl import load_workbook
from openpyxl.worksheet._read_only import ReadOnlyWorksheet
from openpyxl.worksheet._reader import WorkSheetParser

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.office import check_package
from functions.ingest.formats.options import Options
from functions.ingest.formats.tables import write_table
from shared.errors import DocumentRefused

CALLED = "XLSX"

_MOST_ROW, _MOST_COLUMN = 1_048_576, 16_384
_DIGITS = 15  # of a number, as spreadsheets show them


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the rows of the sheets; a sheet's name is a heading.

    What a sheet hides is left out and reported. Formulas count as the value that was saved with
    them.
    """
    draft = Draft(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl would not write back
        book = load_workbook(check_package(data, options), read_only=True, data_only=True)
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible" and not options.include_hidden:
                draft.leave_out(f"hidden sheet {sheet.title!r}")
                continue
            rows = _list_rows(sheet, draft)
            if (first := next(rows, None)) is not None:
                draft.add_heading(1, sheet.title)
                write_table(draft, chain([first], rows))
    return draft.finish("The workbook has no cell that is not blank.")


def _list_rows(sheet: ReadOnlyWorksheet, draft: Draft) -> Iterator[Sequence[str]]:
    """Yields the rows that have a cell; what the sheet says of its own size is not believed.

    This goes below openpyxl's own rows, which would be filled up with empty cells to the widest and
    say nothing of what is hidden.
    """
    book, shows_all = sheet.parent, draft.options.include_hidden
    with sheet._get_source() as source:
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for number, cells in parser.parse():
            row = parser.row_dimensions.pop(str(number), {})
            columns = () if shows_all else list(_list_hidden(parser.column_dimensions))
            filled = {cell["column"]: written for cell in cells if (written := _write(cell))}
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
            yield [filled.get(column, "") for column in range(1, max(filled, default=0) + 1)]


def _list_hidden(columns: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[int, int]]:
    for each in columns.values():
        if _is_hidden(each):
            yield int(each["min"]), int(each["max"])


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return attributes.get("hidden") in {"1", "true"}


def _write(cell: Mapping[str, Any]) -> str:
    """Returns a value as text: numbers and booleans as JSON has them, dates as ISO 8601 does."""
    value = cell["value"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, datetime):
        is_day = value.time() == time()
        return value.date().isoformat() if is_day else value.isoformat(" ", "seconds")
    return "" if value is None else str(value).strip()
