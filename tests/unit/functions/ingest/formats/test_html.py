import pytest

from functions.ingest.document import ParsedDocument
from shared.files.media import Format
from tests.files.reading import read_file, refuse


def parse(markup: str) -> ParsedDocument:
    return read_file(Format.HTML, markup.encode())


def read(markup: str, *, include_hidden: bool = False) -> str:
    return read_file(Format.HTML, markup.encode(), include_hidden=include_hidden).text


def test_l19_blocks_stand_apart_and_inline_words_together() -> None:
    document = read_file(
        Format.HTML,
        b"<h1>Quarterly Report</h1><p>Revenue <b>rose</b>.</p><ul><li>Item one<li>Item two</ul>"
        b"<script>var SECRET=1</script><style>.x{}</style><noscript>NS-77</noscript>"
        b"<template>TP-77</template>",
    )
    assert document.text == "Quarterly Report\n\nRevenue rose.\n- Item one\n- Item two"
    assert [(h.level, h.title) for h in document.headings] == [(1, "Quarterly Report")]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<br>b", "a\nb"),
        ("a&nbsp;b \n c", "a b c"),
        ("<p>un<i>bro</i>ken", "unbroken"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc"),
        ("<pre>a\n  b\n</pre>", "a\n  b"),
        ("x<img src=y alt='A logo'>z", "x A logo z"),
        ("<dl><dt>Term<dd>Meaning</dl>", "Term\n\nMeaning"),
        ("<ul><li>a<ul><li>b</ul><li><p>c</p><p>d</p></ul>", "- a\n- b\n- c\n\nd"),
        ("<select><option>one<option>two</select>", "one\n\ntwo"),
        ("<p>a<!-- no -->b</p>", "ab"),
        ("<a href='https://x.example'>link</a> text", "link text"),
        ("&lt;b&gt; &amp; \u201cc\u201d", "<b> & \u201cc\u201d"),
        ("plain words", "plain words"),
    ],
)
def test_l19_what_a_browser_shows(markup: str, text: str) -> None:
    assert read(markup) == text


def test_l19_the_cells_of_a_table_stand_apart_and_its_rows_on_lines() -> None:
    table = "<table><tr><th>Plan<th>Price<tr><td>Pro<td><p>42</p> EUR<tr><td><td></table>end"
    assert read(table) == "Plan | Price\nPro | 42 EUR\n\nend"


def test_a_table_that_lays_out_a_page_is_read_as_blocks() -> None:
    page = "<table><tr><td><h2>Left</h2>one<td><table><tr><td>a<td>b</table>two</table>"
    assert read(page) == "Left\n\none\n\na | b\n\ntwo"


def test_l19_a_page_calls_itself_by_its_title() -> None:
    page = b"<html><head><title> The\n page </title></head><body>text<svg><title>x</title></svg>"
    document = read_file(Format.HTML, page)
    assert (document.title, document.text) == ("The page", "text")
    assert read_file(Format.HTML, b"text").title is None


def test_what_is_hidden_is_left_out_and_reported_or_read_where_that_is_wanted() -> None:
    page = "<p hidden>A-77<p>shown<div style='color:red; DISPLAY:none'><p>B-77</div>"
    document = read_file(Format.HTML, page.encode())
    assert (document.text, document.left_out) == ("shown", ["hidden elements"])
    assert read(page, include_hidden=True) == "A-77\n\nshown\n\nB-77"


CHINESE = "退款需要七个工作日，请联系客服。"


@pytest.mark.parametrize(
    ("head", "charset", "guessed"),
    [
        ("<meta charset=gb2312>", None, False),
        ("<meta http-equiv=Content-Type content='text/html; charset=GBK'>", None, False),
        ("<?xml version='1.0' encoding='gbk'?>", None, False),
        ("", "gbk", False),
        ("<meta charset=big5>", "gbk", False),
        ("", None, True),
        ("<meta charset=klingon>", None, True),
        ("<meta charset=euc-kr>", None, True),  # which these bytes are not
    ],
)
def test_l04_l19_a_declared_charset_is_obeyed_where_it_is_true(
    head: str, charset: str | None, guessed: bool
) -> None:
    document = read_file(Format.HTML, f"{head}<p>{CHINESE}囍".encode("gbk"), charset)
    assert document.text == f"{CHINESE}囍"
    assert (document.encoding, document.guessed) == ("gb18030", guessed)


def test_utf_8_wins_over_what_the_page_says() -> None:
    document = read_file(Format.HTML, f"<meta charset=gbk>{CHINESE}".encode())
    assert (document.text, document.encoding) == (CHINESE, "utf-8")


@pytest.mark.parametrize("markup", ["<script>x</script>", "<p> </p>", "<p hidden>x", "<!-- x -->"])
def test_a_page_that_shows_nothing_is_no_text(markup: str) -> None:
    assert refuse(Format.HTML, markup.encode()).code == "no_text"


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 3_000 + "x",
        "<table><tr><td>" * 300 + "x",
        "<b>" * 10_000 + "x",
        "<ul><li>" * 2_000 + "x",
    ],
)
def test_pages_nest_as_deep_as_they_like(markup: str) -> None:
    assert read(markup).strip("- ") == "x"


def test_nul_in_a_page_is_refused() -> None:
    assert refuse(Format.HTML, b"<p>a\0b").code == "broken"


@pytest.mark.parametrize("heading", ["<h2><div>Fees</div></h2>", "<h2><p>Fees</h2>"])
def test_a_heading_with_a_block_in_it_is_one(heading: str) -> None:
    document = parse(f"{heading}<p>Pro costs 42 EUR.</p>")
    assert document.text == "Fees\n\nPro costs 42 EUR."
    assert [(h.level, h.title) for h in document.headings] == [(2, "Fees")]


def test_a_heading_that_holds_the_page_is_none() -> None:
    document = parse("<h1><div>Title</div>" + "<p>Words of the page.</p>" * 40)
    assert document.text.startswith("Title\n\nWords of the page.\n\nWords")
    assert document.headings == []


def test_headings_in_headings_take_time_as_they_are_long() -> None:
    assert read("<h1><div>" * 10_000 + "words") == "words"


def test_an_item_without_words_leaves_no_bullet_behind() -> None:
    assert read("<ul><li>One<li></ul><p>Text</p>") == "- One\n\nText"


def test_the_reading_of_a_word_does_not_part_it() -> None:
    document = parse("<p><ruby>表<rp>(</rp><rt>ひょう</rt><rp>)</rp>示<rt>じ</rt></ruby>する</p>")
    assert (document.text, document.left_out) == ("表示する", ["readings of words"])


def test_a_page_that_is_xml_closes_its_elements_as_xml_does() -> None:
    page = '<html><head><title/><script src="x"/></head><body><p/><p>Body.</p></body></html>'
    assert read(f'<?xml version="1.0"?>{page}') == "Body."
    assert refuse(Format.HTML, page.encode()).code == "no_text"  # as browsers show it
