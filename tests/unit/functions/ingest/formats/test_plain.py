import pytest

from functions.ingest.formats.plain import read_markdown, read_plain, read_text
from shared.errors import DocumentRefused
from tests.files.reading import read_as_markdown, read_as_plain

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
    for read in (read_plain, read_markdown):
        document = read(read_text(CHINESE.encode("gbk"), charset))
        assert document.text == CHINESE
        assert (document.encoding, document.guessed) == ("gb18030", charset is None)


def test_line_ends_become_one_kind_and_nothing_else_changes() -> None:
    data = b"  one\r\ntwo\rthree\n\n\tfour \x0c five\xe2\x80\xa8six\r\n"
    assert read_as_plain(data).text == "  one\ntwo\nthree\n\n\tfour \x0c five\u2028six\n"


def test_plain_text_has_no_headings_and_no_front_matter() -> None:
    document = read_as_plain(b"---\ntitle: x\n---\n# A\n")
    assert (document.headings, document.start, document.title) == ((), 0, None)


def test_front_matter_is_no_text_and_gives_the_title() -> None:
    document = read_as_markdown(b"---\ntitle: The fees\n---\n# A\n\nb: c\n---\n")
    assert (document.title, document.start) == ("The fees", 24)
    assert [(h.level, h.title) for h in document.headings] == [(1, "A"), (2, "b: c")]
    assert document.text[document.headings[0].span.start :].startswith("# A")


@pytest.mark.parametrize("title", ["", "title: 5", "title: ''", "title: [x]", "name: x"])
def test_a_title_is_a_text(title: str) -> None:
    assert read_as_markdown(f"---\na: 1\n{title}\n---\nx".encode()).title is None


def test_front_matter_that_can_t_be_read_is_text_without_headings_and_reported() -> None:
    document = read_as_markdown(b"---\ntitle: a: b\n---\n# A\n")
    assert document.start == 0
    assert [h.title for h in document.headings] == ["A"]
    assert document.left_out == [
        "front matter as metadata: line 1: mapping values are not allowed in this context"
    ]


def test_nothing_but_front_matter_is_no_text() -> None:
    with pytest.raises(DocumentRefused, match="nothing but front matter") as refused:
        read_as_markdown(b"---\ntitle: x\n---\n\n")
    assert refused.value.code == "no_text"
