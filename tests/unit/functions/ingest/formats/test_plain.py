import pytest

from functions.ingest.formats.plain import read_plain, read_text
from shared.errors import DocumentRefused
from shared.files.media import Format
from tests.files.reading import read_as_markdown, read_as_plain, read_file

CHINESE = "退款需要七个工作日，请联系客服。"


@pytest.mark.parametrize("data", [b"", b" \r\n\t", "\ufeff".encode(), "\u3000\u2028".encode()])
def test_a_file_without_words_is_refused(data: bytes) -> None:
    for read in (read_as_plain, read_as_markdown):
        with pytest.raises(DocumentRefused) as refused:
            read(data)
        assert refused.value.code == "no_text"


@pytest.mark.parametrize("data", [b"ab\0c", "ab".encode("utf-16-le"), b"\0"])
def test_nul_is_refused(data: bytes) -> None:
    with pytest.raises(DocumentRefused, match=f"character {data.find(0)}:") as refused:
        read_as_plain(data)
    assert refused.value.code == "broken"


@pytest.mark.parametrize("charset", ["gbk", "GB2312", None])
def test_l04_a_gbk_file_is_read_by_its_charset_or_guessed(charset: str | None) -> None:
    for format_ in (Format.MARKDOWN, Format.CSV):
        document = read_file(format_, CHINESE.encode("gbk"), charset)
        assert document.text == CHINESE
        assert (document.encoding, document.guessed) == ("gb18030", charset is None)
    document = read_plain(read_text(CHINESE.encode("gbk"), charset))
    assert (document.text, document.encoding) == (CHINESE, "gb18030")


def test_line_ends_become_one_kind_and_nothing_else_changes() -> None:
    data = b"  one\r\ntwo\rthree\n\n\tfour \x0c five\xe2\x80\xa8six\r\n"
    assert read_as_plain(data).text == "  one\ntwo\nthree\n\n\tfour \x0c five\u2028six\n"


def test_plain_text_has_no_headings_and_no_front_matter() -> None:
    document = read_as_plain(b"---\ntitle: x\n---\n# A\n")
    assert (document.headings, document.start, document.title) == ((), 0, None)
