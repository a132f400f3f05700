import pytest

from functions.ingest.parse import parse
from shared.errors import DocumentRefused

MARKDOWN = b"# Title\n\nWords.\n"


@pytest.mark.parametrize(
    ("media_type", "name", "headings"),
    [
        ("text/markdown", "x", 1),
        ("text/markdown; charset=utf-8", "x.txt", 1),
        ("Text/Markdown", "", 1),
        ("text/x-markdown", "", 1),
        ("", "Read.MD", 1),
        ("", "a/b.markdown", 1),
        ("application/octet-stream", "x.md", 1),
        ("binary/octet-stream", "x.TXT", 0),
        ("text/plain", "x.md", 0),
        ("text/plain;charset=utf-8", "", 0),
        ("", "notes.txt", 0),
    ],
)
def test_the_media_type_decides_then_the_extension(
    media_type: str, name: str, headings: int
) -> None:
    document = parse(MARKDOWN, media_type, name)
    assert document.text == MARKDOWN.decode()
    assert len(document.headings) == headings


@pytest.mark.parametrize(
    ("media_type", "name"),
    [("application/pdf", "x.txt"), ("", "x.pdf"), ("", "md"), ("", ".md"), ("image/png", "")],
)
def test_other_files_are_refused(media_type: str, name: str) -> None:
    with pytest.raises(DocumentRefused, match="can't be read: send plain text") as refused:
        parse(MARKDOWN, media_type, name)
    assert refused.value.code == "unsupported"


@pytest.mark.parametrize("data", [b"", b" \r\n\t", "\ufeff".encode(), "\u3000\u2028".encode()])
def test_a_file_without_words_is_refused(data: bytes) -> None:
    with pytest.raises(DocumentRefused) as refused:
        parse(data, "text/plain", "x.txt")
    assert refused.value.code == "no_text"


@pytest.mark.parametrize("data", [b"ab\0c", "ab".encode("utf-16-le"), b"\0"])
def test_nul_is_refused(data: bytes) -> None:
    with pytest.raises(DocumentRefused, match=f"character {data.find(0)}:") as refused:
        parse(data, "text/plain", "x.txt")
    assert refused.value.code == "broken"


@pytest.mark.parametrize("name", ["refund.txt", "refund.md"])
def test_l04_a_gbk_file_is_read_by_its_declared_charset_or_refused(name: str) -> None:
    text = "退款需要七个工作日，请联系客服。"
    kind = {"refund.txt": "text/plain", "refund.md": "text/markdown"}[name]
    for charset in ("gbk", '"GBK"', "'gb2312'"):
        assert parse(text.encode("gbk"), f"{kind}; Charset={charset}", name).text == text
    with pytest.raises(DocumentRefused) as refused:
        parse(text.encode("gbk"), "", name)
    assert refused.value.code == "encoding"


def test_line_ends_become_one_kind_and_nothing_else_changes() -> None:
    data = b"  one\r\ntwo\rthree\n\n\tfour \x0c five\xe2\x80\xa8six\r\n"
    assert parse(data, "text/plain", "").text == "  one\ntwo\nthree\n\n\tfour \x0c five\u2028six\n"


def test_the_title_is_the_first_outermost_heading() -> None:
    assert parse(b"## A\n# \n# *The* one\n# B", "", "x.md").title == "The one"
    assert parse(b"## A", "", "x.md").title is None
    assert parse(MARKDOWN, "", "x.txt").title is None
