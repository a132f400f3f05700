import pytest

from functions.ingest.formats.options import Options
from functions.ingest.parse import parse
from functions.ingest.reader import FileReader
from shared.errors import DocumentRefused

READER = FileReader(Options())
CHINESE = "退款需要七个工作日，请联系客服。"


@pytest.mark.parametrize(
    ("media_type", "headings"),
    [
        ("text/markdown", 1),
        ("text/markdown; charset=utf-8", 1),
        ("Text/Markdown", 1),
        ("text/x-markdown", 1),
        ("text/plain", 0),
        ("text/html", 1),
    ],
)
def test_the_media_type_decides(media_type: str, headings: int) -> None:
    document = parse(lambda: b"# Title\n\n<h1>Words</h1>\n", media_type, READER)
    assert "Words" in document.text
    assert len(document.headings) == headings


@pytest.mark.parametrize("media_type", ["", "image/png", "application/octet-stream"])
def test_other_files_are_refused(media_type: str) -> None:
    with pytest.raises(DocumentRefused, match="can't be read") as refused:
        parse(lambda: b"x", media_type, READER)
    assert refused.value.code == "unsupported"


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "text/html", "text/csv"])
def test_l04_a_charset_comes_with_the_media_type_or_is_guessed(media_type: str) -> None:
    data = CHINESE.encode("gbk")
    for charset in ("gbk", '"GBK"', "'gb2312'"):
        document = parse(lambda: data, f"{media_type}; Charset={charset}", READER)
        assert (document.text, document.guessed) == (CHINESE, False)
    document = parse(lambda: data, media_type, READER)
    assert (document.text, document.guessed) == (CHINESE, True)
