import pytest

from functions.ingest.document import ParsedDocument
from shared.files.media import Format
from tests.files.reading import read_file, refuse


def read(data: str | bytes, format_: Format = Format.CSV) -> ParsedDocument:
    return read_file(format_, data.encode() if isinstance(data, str) else data)


@pytest.mark.parametrize(
    ("data", "format_"),
    [
        ("code,region,qty\n007,NA,10\n", Format.CSV),
        ("code,region,qty\r\n007,NA,10\r\n", Format.CSV),
        ("code;region;qty\n007;NA;10\n", Format.CSV),
        ("code\tregion\tqty\n007\tNA\t10\n", Format.TSV),
    ],
)
def test_l01_cells_are_the_text_that_they_are(data: str, format_: Format) -> None:
    assert read(data, format_).text == "code | region | qty\n\ncode: 007\nregion: NA\nqty: 10"


def test_l03_a_line_end_within_quotes_parts_no_row() -> None:
    text = read('name,note\nA,"first\nsecond"\nB,"x\u2028y\x0cz\x85"\n').text
    assert text.split("\n\n")[1:] == [
        "name: A\nnote: first\nsecond",
        "name: B\nnote: x\u2028y\x0cz",
    ]


def test_l03_a_delimiter_within_quotes_parts_no_cell() -> None:
    assert read('a;b\n"x;1";2\n').text == "a | b\n\na: x;1\nb: 2"
    assert read('a,b\n"say ""hi"", you",2\n').text == 'a | b\n\na: say "hi", you\nb: 2'
    assert read('a, b\n1, "x, y"\n').text == "a | b\n\na: 1\nb: x, y"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("a|b\n1|2,5\n", "a | b\n\na: 1\nb: 2,5"),
        ("a;b\n1,5;2,5\n3,5;4\n", "a | b\n\na: 1,5\nb: 2,5\n\na: 3,5\nb: 4"),
        ("Hello, world. No table; at all", "Hello | world. No table; at all"),
        (
            "Who, first\tWhere, now\nSmith, J\tRome, IT\n",
            "Who, first | Where, now\n\nWho, first: Smith, J\nWhere, now: Rome, IT",
        ),
        ("sep=^\na^b\n1,5^2,5\n", "a | b\n\na: 1,5\nb: 2,5"),
    ],
)
def test_the_delimiter_is_the_one_that_makes_rows_alike(data: str, text: str) -> None:
    assert read(data).text == text


def test_titles_before_the_columns_names_stand_alone() -> None:
    assert read("Prices 2026\n\nitem,eur\nBolt,2\n").text == (
        "Prices 2026\n\nitem | eur\n\nitem: Bolt\neur: 2"
    )


def test_a_column_alone_has_no_name() -> None:
    assert read("word\nalpha\nbeta\n").text == "word\n\nalpha\n\nbeta"


def test_rows_longer_or_shorter_than_the_heading_lose_nothing() -> None:
    assert read("a,,c\n1,2,3,4,5\n,6\n\n,,\n").text == "a | c\n\na: 1\n2\nc: 3\n4\n5\n\n6"


def test_l04_a_gbk_file_is_guessed() -> None:
    document = read("编号,说明\n007,退款需要七个工作日，请联系客服。\n".encode("gbk"))
    assert document.text == "编号 | 说明\n\n编号: 007\n说明: 退款需要七个工作日，请联系客服。"
    assert (document.encoding, document.guessed) == ("gb18030", True)


def test_a_cell_may_be_as_long_as_the_file() -> None:
    assert read(f'a,b\n{"x" * 500_000},"unclosed, to\nthe end').text.endswith(
        "unclosed, to\nthe end"
    )


def test_blank_tables_are_no_text() -> None:
    assert refuse(Format.CSV, b",,\n,\n").code == "no_text"
    assert refuse(Format.CSV, b"").code == "no_text"
    assert refuse(Format.TSV, b"a\0b").code == "broken"
