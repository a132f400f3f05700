import zipfile
from io import BytesIO

import pytest

from shared.errors import UnsupportedMediaType
from shared.files.media import (
    EXTENSIONS,
    Format,
    find_media_type,
    is_encrypted_office,
    split_media_type,
)
from tests.files.office import ENCRYPTED, OLDER, write_docx, write_pptx, write_xlsx
from tests.files.pdf import show, write_pdf

PDF = write_pdf([show("x")])
DOCX, XLSX, PPTX = write_docx("x"), write_xlsx(["x"]), write_pptx("x")


def write_zip(*names: str) -> bytes:
    written = BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return written.getvalue()


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_l21_a_name_s_extension_decides_in_any_case(extension: str) -> None:
    assert find_media_type(f"a/REPORT{extension.upper()}", "", b"x") == EXTENSIONS[extension]


@pytest.mark.parametrize(
    ("name", "declared", "format_"),
    [
        ("data.csv", "application/vnd.ms-excel", Format.CSV),  # as browsers on Windows say
        ("notes.md", "text/plain", Format.MARKDOWN),
        ("notes.md", "application/octet-stream", Format.MARKDOWN),
        ("README", "text/markdown", Format.MARKDOWN),
        ("page.php", "text/html; charset=utf-8", Format.HTML),
        ("a", "Application/JSON", Format.JSON),
        ("", "application/x-ndjson", Format.JSONL),
    ],
)
def test_the_extension_wins_over_the_declared_type(
    name: str, declared: str, format_: Format
) -> None:
    assert split_media_type(find_media_type(name, declared, b"x"))[0] is format_


@pytest.mark.parametrize(
    ("data", "format_"),
    [(PDF, Format.PDF), (DOCX, Format.DOCX), (XLSX, Format.XLSX), (PPTX, Format.PPTX)],
)
@pytest.mark.parametrize("name", ["x", "x.txt", "x.pdf", "x.docx", "x.exe"])
def test_l21_bytes_decide_for_pdf_and_office_files(data: bytes, format_: Format, name: str) -> None:
    assert find_media_type(name, "text/plain", data) == format_


@pytest.mark.parametrize(
    "data",
    [b"%PDF-1.7 is what such files begin with", b"%PDF-x\n", b"PK is Pakistan", b"PK\x03\x04"],
)
def test_a_text_that_looks_a_little_like_them_is_text(data: bytes) -> None:
    assert find_media_type("x.txt", "", data) == Format.PLAIN


@pytest.mark.parametrize(
    ("name", "declared", "data", "words"),
    [
        ("setup.exe", "application/x-msdownload", b"MZ", "'setup.exe' can't be read; those are"),
        ("x", "", b"x", "'x' can't be read"),
        (".md", "", b"x", "'.md' can't be read"),
        ("a", "image/png", b"x", "files of type image/png can't be read"),
        ("old.doc", "", OLDER, ".doc files can't be read: save it as .docx"),
        ("OLD.XLS", "application/vnd.ms-excel", b"x", ".xls files can't be read: save it as .xlsx"),
        ("a.zip", "application/zip", write_zip("word/a.xml"), "'a.zip'"),
        ("a.zip", "", write_zip("[Content_Types].xml", "a.txt"), "'a.zip'"),
        ("a.zip", "", write_zip(*map(str, range(10_001))), "'a.zip'"),
    ],
)
def test_l21_other_files_are_refused_naming_what_is_read(
    name: str, declared: str, data: bytes, words: str
) -> None:
    with pytest.raises(UnsupportedMediaType, match="can't be read") as refused:
        find_media_type(name, declared, data)
    assert words in str(refused.value)


@pytest.mark.parametrize("charset", ["gb18030", '"GB18030"', "'gb18030'"])
def test_a_declared_charset_is_kept(charset: str) -> None:
    media_type = find_media_type("a.csv", f"text/plain; Charset={charset}", b"x")
    assert media_type == "text/csv; charset=" + charset.strip("\"'")
    assert split_media_type(media_type) == (Format.CSV, charset.strip("\"'"))


def test_a_stored_type_that_is_none_has_no_format() -> None:
    assert split_media_type("image/png") == (None, None)


def test_l09_an_office_file_under_a_password_is_told_by_its_stream() -> None:
    assert is_encrypted_office(ENCRYPTED)
    assert not is_encrypted_office(OLDER)
    assert not is_encrypted_office(DOCX)
