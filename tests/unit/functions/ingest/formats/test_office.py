import zipfile
from io import BytesIO

import pytest

from shared.files.media import Format
from tests.files.office import read_part, replace_part, write_docx, write_pptx, write_xlsx
from tests.files.reading import read_file, refuse

DOCX = write_docx("words")
DOCUMENT = "word/document.xml"
TYPES = "[Content_Types].xml"
FILES = {Format.DOCX: DOCX, Format.XLSX: write_xlsx(["words"]), Format.PPTX: write_pptx("words")}
XML = {
    Format.DOCX: DOCUMENT,
    Format.XLSX: "xl/worksheets/sheet1.xml",
    Format.PPTX: "ppt/slides/slide1.xml",
}
BOMB = (
    b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]>"
)


@pytest.mark.parametrize("format_", FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_entities_are_refused_before_any_parser_sees_them(format_: Format, encoding: str) -> None:
    xml = read_part(FILES[format_], XML[format_]).decode()
    body = xml.partition("?>")[2] if xml.startswith("<?xml") else xml
    bomb = (BOMB.decode() + body.replace("words", "&j;")).encode(encoding)
    refusal = refuse(format_, replace_part(FILES[format_], XML[format_], bomb))
    assert refusal.code == "broken"
    assert "declares a document type" in str(refusal)


@pytest.mark.parametrize("format_", FILES)
def test_a_bomb_is_refused_before_it_is_unpacked(format_: Format) -> None:
    bomb = replace_part(FILES[format_], "word/media/a.bin", bytes(50_000_000))
    assert len(bomb) < 200_000
    refusal = refuse(format_, bomb)
    assert refusal.code == "expands_too_far"


def test_the_setting_bounds_it_as_well() -> None:
    assert refuse(Format.DOCX, DOCX, most_expanded=10_000).code == "expands_too_far"
    assert read_file(Format.DOCX, DOCX, most_expanded=1_000_000).text == "words"


def test_a_bomb_that_lies_about_its_size_is_no_archive() -> None:
    bomb = bytearray(replace_part(DOCX, "a.bin", bytes(20_000_000)))
    size = (20_000_000).to_bytes(4, "little")
    assert bomb.count(size) == 2
    lie = bytes(bomb).replace(size, (100).to_bytes(4, "little"))
    assert refuse(Format.DOCX, lie).code == "broken"


def test_many_parts_are_refused_before_they_are_listed() -> None:
    written = BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for n in range(10_001):
            archive.writestr(str(n), "")
    refusal = refuse(Format.DOCX, written.getvalue())
    assert (refusal.code, str(refusal)) == (
        "expands_too_far",
        "The file has more than 10000 parts.",
    )


def test_parts_under_a_password_say_so() -> None:
    data = bytearray(DOCX)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.index(mark)
        data[at + place] |= 1
    assert refuse(Format.DOCX, bytes(data)).code == "password"


def test_the_strict_variant_says_how_to_save_it() -> None:
    document = read_part(DOCX, DOCUMENT)
    strict = document.replace(
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        b"http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    refusal = refuse(Format.DOCX, replace_part(DOCX, DOCUMENT, strict))
    assert refusal.code == "unsupported"
    assert "Strict Open XML" in str(refusal)


def test_honest_files_of_one_word_many_times_are_read() -> None:
    # What deflate makes the least of: still far from the ratio that is refused.
    data = write_xlsx(*[["same", "same", 1]] * 4_000)
    assert read_file(Format.XLSX, data).text.count("same: same") == 7_998
    assert read_file(Format.DOCX, write_docx("again " * 50_000)).text.count("again") == 50_000


def test_a_damaged_part_is_broken() -> None:
    at = DOCX.index(DOCUMENT.encode()) + 60
    damaged = DOCX[:at] + bytes(20) + DOCX[at + 20 :]
    assert refuse(Format.DOCX, damaged).code == "broken"


@pytest.mark.parametrize(
    ("format_", "ordinary", "other"),
    [
        (Format.DOCX, "vnd.openxmlformats-officedocument.wordprocessingml.document", other)
        for other in (
            "vnd.openxmlformats-officedocument.wordprocessingml.template",
            "vnd.ms-word.document.macroEnabled",
            "vnd.ms-word.template.macroEnabled",
        )
    ]
    + [
        (Format.PPTX, "vnd.openxmlformats-officedocument.presentationml.presentation", other)
        for other in (
            "vnd.openxmlformats-officedocument.presentationml.slideshow",
            "vnd.openxmlformats-officedocument.presentationml.template",
            "vnd.ms-powerpoint.presentation.macroEnabled",
            "vnd.ms-powerpoint.slideshow.macroEnabled",
        )
    ]
    + [
        (Format.XLSX, "vnd.openxmlformats-officedocument.spreadsheetml.sheet", other)
        for other in (
            "vnd.openxmlformats-officedocument.spreadsheetml.template",
            "vnd.ms-excel.sheet.macroEnabled",
        )
    ],
)
def test_templates_shows_and_files_with_macros_are_read(
    format_: Format, ordinary: str, other: str
) -> None:
    types = read_part(FILES[format_], TYPES).decode()
    assert f"application/{ordinary}.main+xml" in types
    changed = types.replace(f"application/{ordinary}.main", f"application/{other}.main")
    file = replace_part(FILES[format_], TYPES, changed.encode())
    assert "words" in read_file(format_, file).text


@pytest.mark.parametrize("format_", FILES)
def test_a_relation_to_a_part_that_is_not_there_is_passed_over(format_: Format) -> None:
    folder, _, name = XML[format_].rpartition("/")
    part = f"{folder}/_rels/{name}.rels"
    relation = (
        b'<Relationship Id="rId99" Target="../NULL" Type="http://schemas.openxmlformats.org/'
        b'officeDocument/2006/relationships/image"/>'
    )
    start = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    is_there = part.encode() in FILES[format_]
    known = read_part(FILES[format_], part) if is_there else start + b"</Relationships>"
    end = b"</Relationships>"
    file = replace_part(FILES[format_], part, known.replace(end, relation + end))
    assert "words" in read_file(format_, file).text


def test_a_part_is_found_by_its_name_in_other_letters() -> None:
    file = write_docx("words")
    relations = "_rels/.rels"
    mistaken = read_part(file, relations).replace(b"word/document.xml", b"/Word/Document%2Exml")
    assert read_file(Format.DOCX, replace_part(file, relations, mistaken)).text == "words"
