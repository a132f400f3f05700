from datetime import date, datetime, time
from typing import Any

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.styles import Font

from functions.ingest.document import ParsedDocument
from shared.files.media import Format
from tests.files.office import read_part, replace_part, save, write_xlsx
from tests.files.reading import read_file, refuse

SHEET = "xl/worksheets/sheet1.xml"


def read(book: Any, *, include_hidden: bool = False) -> ParsedDocument:
    return read_file(Format.XLSX, save(book), include_hidden=include_hidden)


def change(data: bytes, old: bytes, new: bytes) -> bytes:
    sheet = read_part(data, SHEET)
    assert old in sheet
    return replace_part(data, SHEET, sheet.replace(old, new))


def test_l13_zero_and_false_are_no_blanks() -> None:
    data = write_xlsx(
        ["item", "stock", "active"], ["Bolt", 0, False], ["Nut", "", None], ["Cap", 0.0]
    )
    assert read_file(Format.XLSX, data).text == (
        "Sheet\n\nitem | stock | active\n\n"
        "item: Bolt\nstock: 0\nactive: false\n\nitem: Nut\n\nitem: Cap\nstock: 0"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("007", "007"),
        (7, "7"),
        (1.1 + 2.2, "3.3"),
        (123456789012345, "123456789012345"),
        (True, "true"),
        (datetime.fromisoformat("2026-03-01 10:30"), "2026-03-01 10:30:00"),
        (date(2026, 3, 1), "2026-03-01"),
        (time(10, 30), "10:30:00"),
        (" x\n\ny ", "x\ny"),
    ],
)
def test_values_are_written_as_they_are_meant(value: Any, text: str) -> None:
    data = write_xlsx(["name", "value"], ["a", value])
    assert read_file(Format.XLSX, data).text.endswith(f"\nvalue: {text}")


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.475, "0.0%", "47.5%"),
        (0.07, "0%", "7%"),
        (1, "0%", "100%"),
        (47.5, '0.0"%"', "47.5"),
        (47.5, r"0.0\%", "47.5"),
        (1234.5, '"$"#,##0.00', "1234.5"),
    ],
)
def test_a_percentage_is_written_as_its_readers_see_it(value: Any, code: str, text: str) -> None:
    book = Workbook()
    book.active.append(["name", "value"])
    book.active.append(["a", value])
    book.active["B2"].number_format = code
    assert read(book).text.endswith(f"\nvalue: {text}")


def test_a_cell_that_reaches_over_rows_is_part_of_each() -> None:
    book = Workbook()
    for row in (
        ["region", "item", "stock"],
        ["Europe", "Bolt", 5],
        [None, "Nut", 6],
        ["Asia", "Cap", 7],
    ):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.active.merge_cells("A4:A9")
    assert read(book).text.split("\n\n")[2:] == [
        "region: Europe\nitem: Bolt\nstock: 5",
        "region: Europe\nitem: Nut\nstock: 6",
        "region: Asia\nitem: Cap\nstock: 7",
    ]


def test_line_breaks_that_are_escaped_are_line_breaks() -> None:
    data = write_xlsx(["name", "value"], ["a", "x_x000D_\ny_x000a_z"])
    assert read_file(Format.XLSX, data).text.endswith("\nvalue: x\ny\nz")


def test_formulas_without_their_values_are_reported() -> None:
    data = write_xlsx(["a", "b"], [1, "=A2+1"])
    assert "<f>" in read_part(data, SHEET).decode()
    document = read_file(Format.XLSX, data)
    assert document.text.endswith("\n\na: 1")
    assert document.left_out == ["formulas of sheet 'Sheet' that were saved without their values"]
    data = change(data, b"</f><v></v>", b"</f><v>2</v>")
    assert read_file(Format.XLSX, data).text.endswith("\n\na: 1\nb: 2")
    data = change(data, b'<c r="B2"><f>A2+1</f><v>2</v>', b'<c r="B2" t="str"><f>A2+1</f><v></v>')
    assert read_file(Format.XLSX, data).left_out == []


def test_comments_are_reported() -> None:
    book = Workbook()
    book.active.append(["a", "b"])
    book.active["A1"].comment = Comment("NOTE-5", "me")
    document = read(book)
    assert (document.text, document.left_out) == ("Sheet\n\na | b", ["comments"])


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("xl/styles.xml", b"<fill>", b"<fill/><fill>"),
        ("docProps/core.xml", b"</dcterms:created>", b" or so</dcterms:created>"),
        (SHEET, b"<pageMargins", b'<pageMargins header="x"/><pageMargins'),
        (SHEET, b"<pageMargins", b'<dataValidations count="1"><dataValidation type="x"/>'
                                 b"</dataValidations><pageMargins"),
        (SHEET, b"<pageMargins", b'<conditionalFormatting sqref="A1"><cfRule type="x"/>'
                                 b"</conditionalFormatting><pageMargins"),
    ],
)  # fmt: skip
def test_what_is_odd_but_no_cell_refuses_no_file(part: str, old: bytes, new: bytes) -> None:
    data = write_xlsx(["a", "b"], [datetime.fromisoformat("2026-03-01"), 2])
    content = read_part(data, part)
    assert old in content
    odd = replace_part(data, part, content.replace(old, new))
    assert read_file(Format.XLSX, odd).text == "Sheet\n\na | b\n\na: 2026-03-01\nb: 2"


def test_l15_a_format_in_the_last_row_makes_no_rows() -> None:
    book = Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.active["A1048576"].font = Font(bold=True)
    book.active["A5000"] = "far"
    assert book.active.max_row == 1_048_576
    assert read(book).text == "Sheet\n\na | b\n\na: 1\nb: 2\n\na: far"


@pytest.mark.parametrize("said", [b"A1:XFD1048576", b"A1"])
def test_l15_a_dimension_that_lies_changes_nothing(said: bytes) -> None:
    data = write_xlsx(["a", "b"], [1, 2])
    lying = change(data, b'<dimension ref="A1:B2"', b'<dimension ref="%b"' % said)
    assert read_file(Format.XLSX, lying).text == read_file(Format.XLSX, data).text


@pytest.mark.parametrize("cell", [b"XFE2", b"A1048577", b"ZZZZ2", b"A99999999999"])
def test_l15_a_cell_beyond_the_last_is_an_error(cell: bytes) -> None:
    data = change(write_xlsx(["a", "b"], [1, 2]), b'r="A2"', b'r="%b"' % cell)
    if cell.startswith(b"A"):
        data = change(data, b'<row r="2"', b'<row r="%b"' % cell[1:])
    assert refuse(Format.XLSX, data).code == "broken"


def make_hiding() -> Workbook:
    book = Workbook()
    book.active.title = "Open"
    for row in (["a", "b", "c", "d"], [1, 2, 3, 4], [5, 6, 7, 8]):
        book.active.append(row)
    book.active.row_dimensions[3].hidden = True
    for column in "BC":
        book.active.column_dimensions[column].hidden = True
    secret = book.create_sheet("secret")
    secret["A1"] = "HIDDEN-77"
    secret.sheet_state = "hidden"
    return book


def test_l17_hidden_sheets_rows_and_columns_are_left_out_and_reported() -> None:
    document = read(make_hiding())
    assert document.text == "Open\n\na | d\n\na: 1\nd: 4"
    assert document.left_out == [
        "hidden columns of sheet 'Open'",
        "hidden rows of sheet 'Open'",
        "hidden sheet 'secret'",
    ]


def test_l17_they_are_read_where_that_is_wanted() -> None:
    document = read(make_hiding(), include_hidden=True)
    assert document.text == (
        "Open\n\na | b | c | d\n\na: 1\nb: 2\nc: 3\nd: 4\n\na: 5\nb: 6\nc: 7\nd: 8"
        "\n\nsecret\n\nHIDDEN-77"
    )
    assert document.left_out == []


def test_a_sheet_s_name_is_its_heading_and_an_empty_sheet_has_none() -> None:
    book = Workbook()
    book.active["A1"] = "x"
    book.create_sheet("Empty")
    book.create_sheet("Prices")["B2"] = "y"
    assert [(h.level, h.title) for h in read(book).headings] == [(1, "Sheet"), (1, "Prices")]


def test_a_formula_counts_as_the_value_saved_with_it() -> None:
    data = write_xlsx(["a", "b"], [1, "=1+1"])
    assert read_file(Format.XLSX, data).text.endswith("a: 1")
    saved = change(data, b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>")
    assert read_file(Format.XLSX, saved).text.endswith("a: 1\nb: 2")


@pytest.mark.parametrize("data", [b"words", b"PK\x03\x04", write_xlsx(["x"])[:500]])
def test_a_broken_file_has_a_reason_for_people(data: bytes) -> None:
    refusal = refuse(Format.XLSX, data)
    assert refusal.code == "broken"
    assert "no XLSX file" in str(refusal)


def test_an_empty_workbook_is_no_text() -> None:
    assert refuse(Format.XLSX, save(Workbook())).code == "no_text"
