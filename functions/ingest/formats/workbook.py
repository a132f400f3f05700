"""An XLSX's sheets, its texts, and how its cells write numbers: what is needed to read cells.

openpyxl's own reading builds all of a workbook, and refuses it over a fill, a filter or a date in
its properties that spreadsheets pass over, and that says nothing of what stands in the cells.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import builtin_format_code, is_date_format, is_timedelta_format
from openpyxl.utils import column_index_from_string
from openpyxl.worksheet._reader import COL_TAG, FORMULA_TAG, ROW_TAG, VALUE_TAG, WorkSheetParser
from openpyxl.xml.constants import ARC_STYLE, SHEET_MAIN_NS
from openpyxl.xml.functions import fromstring, iterparse

_MERGED = re.compile(
    rb'<(?:\w+:)?mergeCell\s[^<>]*?ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"'
)
_READ_AT_ONCE = 1 << 20
_LONGEST_TAG = 200
_COMMENTS = re.compile(r"xl/(.*/)?(threadedC|c)omments?/?[^/]*\.xml")
_LITERAL = re.compile(r'"[^"]*"|\\.')


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of cells, and where it is kept."""

    title: str
    is_hidden: bool
    part: str


class Book:
    """A workbook that was opened.

    Attributes:
        sheets: in their order, without charts.
        has_comments: somebody commented on a cell.
    """

    def __init__(self, package: BinaryIO) -> None:
        reader = ExcelReader(package, read_only=True, data_only=True, keep_links=False)
        reader.read_manifest()
        reader.read_strings()
        reader.read_workbook()
        self._reader = reader
        formats = list(enumerate(self._list_formats()))
        self._dates = {style for style, code in formats if is_date_format(code)}
        self._durations = {style for style, code in formats if is_timedelta_format(code)}
        self._percentages = {style for style, code in formats if "%" in _LITERAL.sub("", code)}
        self.has_comments = any(map(_COMMENTS.fullmatch, reader.valid_files))
        self.sheets = [
            Sheet(sheet.name, sheet.state != "visible", relation.target)
            for sheet, relation in reader.parser.find_sheets()
            if relation.target in reader.valid_files and "chartsheet" not in relation.Type
        ]

    def open_cells(self, sheet: Sheet) -> "Cells":
        """Returns a sheet's cells, to be read once."""
        return Cells(
            self._reader.archive.open(sheet.part),
            self._reader.shared_strings,
            data_only=True,
            epoch=self._reader.wb.epoch,
            date_formats=self._dates,
            timedelta_formats=self._durations,
        )

    def find_merged(self, sheet: Sheet) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Returns the cells that reach over several rows: their columns and last rows by the first.

        They stand after the rows in the part, and are needed before.
        """
        found: dict[int, set[tuple[int, int]]] = defaultdict(set)
        tail = b""
        with self._reader.archive.open(sheet.part) as part:
            while piece := part.read(_READ_AT_ONCE):
                for column, first, last in _MERGED.findall(tail + piece):
                    if int(last) > int(first):
                        place = (column_index_from_string(column.decode()), int(last))
                        found[int(first)].add(place)
                tail = piece[-_LONGEST_TAG:]
        return {first: list(places) for first, places in found.items()}

    def is_percentage(self, style: int) -> bool:
        """Tells whether cells of a style show a number as so many of a hundred."""
        return style in self._percentages

    def _list_formats(self) -> Sequence[str]:
        """Returns the number format of each style that cells can have."""
        if ARC_STYLE not in self._reader.valid_files:
            return []
        styles = fromstring(self._reader.archive.read(ARC_STYLE))
        named = styles.iterfind(f"{{{SHEET_MAIN_NS}}}numFmts/{{{SHEET_MAIN_NS}}}numFmt")
        own = {each.get("numFmtId"): each.get("formatCode") for each in named}
        used = styles.iterfind(f"{{{SHEET_MAIN_NS}}}cellXfs/{{{SHEET_MAIN_NS}}}xf")
        ids = [each.get("numFmtId", "0") for each in used]
        return [own.get(id_) or builtin_format_code(int(id_)) or "" for id_ in ids]


class Cells(WorkSheetParser):  # type: ignore[misc]
    """Reads rows and columns, and nothing else of a sheet.

    Attributes:
        lacks_values: a formula was met that was saved without its value.
    """

    lacks_values = False

    def parse(self) -> Iterator[tuple[int, Sequence[dict[str, Any]]]]:
        """Yields the rows: their number, and the cells that they have."""
        for _, element in iterparse(self.source):
            if element.tag == COL_TAG:
                self.parse_column_dimensions(element)
            elif element.tag == ROW_TAG:
                yield self.parse_row(element)
            else:
                continue
            element.clear()

    def parse_cell(self, element: Any) -> dict[str, Any]:
        """Returns a cell as openpyxl does."""
        is_text = element.get("t") == "str"  # which may be empty
        if not is_text and element.find(FORMULA_TAG) is not None:
            self.lacks_values |= not element.findtext(VALUE_TAG)
        cell: dict[str, Any] = super().parse_cell(element)
        return cell
