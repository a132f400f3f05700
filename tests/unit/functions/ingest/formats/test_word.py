from typing import Any

import pytest
from docx import Document
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn

from functions.ingest.chunk import chunk
from functions.ingest.document import ParsedDocument
from shared.files.media import Format
from shared.model import Chunking
from tests.files.office import ENCRYPTED, OLDER, replace_part, save, write_docx
from tests.files.reading import read_file, refuse


def read(document: Any, *, include_hidden: bool = False) -> ParsedDocument:
    return read_file(Format.DOCX, save(document), include_hidden=include_hidden)


def wrap(tag: str, text: str, text_tag: str = "w:t") -> Any:
    element, run, words = OxmlElement(tag), OxmlElement("w:r"), OxmlElement(text_tag)
    words.text = text
    run.append(words)
    element.append(run)
    return element


def test_l10_tables_stand_where_they_are_and_a_row_on_one_line() -> None:
    document = Document()
    document.add_heading("Fees", 1)
    document.add_paragraph("Intro.")
    table = document.add_table(2, 2)
    for cell, text in zip(
        [*table.rows[0].cells, *table.rows[1].cells],
        ["Plan", "Price", "Pro", "42 EUR"],
        strict=True,
    ):
        cell.text = text
    document.add_paragraph("Outro.")
    parsed = read(document)
    assert parsed.text == "Fees\n\nIntro.\n\nPlan | Price\nPro | 42 EUR\n\nOutro."
    assert [p.text for p in chunk(parsed, Chunking())] == [parsed.text]


def test_l10_a_merged_cell_is_read_once() -> None:
    document = Document()
    table = document.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "merged"
    table.cell(0, 2).merge(table.cell(1, 2)).text = "down"
    table.cell(1, 0).text = "x"
    text = read(document).text
    assert (text.count("merged"), text.count("down"), text.count("x")) == (1, 1, 1)


def test_l12_headers_and_footers_come_once_at_the_end() -> None:
    document = Document()
    document.add_paragraph("Body.")
    document.sections[0].header.paragraphs[0].text = "HDR-77"
    document.sections[0].footer.paragraphs[0].text = "Ref 9981"
    section = document.add_section()
    section.header.is_linked_to_previous = False
    section.header.paragraphs[0].text = "HDR-77"
    document.add_paragraph("More.")
    assert read(document).text == "Body.\n\nMore.\n\nHDR-77\n\nRef 9981"


def test_l17_hidden_text_is_left_out_and_reported_or_read_where_that_is_wanted() -> None:
    document = Document()
    paragraph = document.add_paragraph("seen ")
    paragraph.add_run("HIDDEN-77").font.hidden = True
    paragraph.add_run("too").font.hidden = False
    parsed = read(document)
    assert (parsed.text, parsed.left_out) == ("seen too", ["hidden text"])
    parsed = read(document, include_hidden=True)
    assert (parsed.text, parsed.left_out) == ("seen HIDDEN-77too", [])


def test_l17_a_style_hides_too() -> None:
    document = Document()
    style = document.styles.add_style("Secret", 2)
    style.font.hidden = True
    based = document.styles.add_style("Based", 2)
    based.base_style = style
    document.add_paragraph("seen").add_run("HIDDEN-77", "Based")
    assert read(document).text == "seen"


def test_headings_are_told_by_style_outline_and_base() -> None:
    document = Document()
    document.add_heading("The title", 0)
    document.add_heading("One", 1)
    document.add_paragraph("text")
    own = document.styles.add_style("Own heading", 1)
    own.base_style = document.styles["Heading 2"]
    document.add_paragraph("Two", "Own heading")
    paragraph = document.add_paragraph("Three")
    level = OxmlElement("w:outlineLvl")
    level.set(f"{{{paragraph._p.nsmap['w']}}}val", "2")
    paragraph._p.get_or_add_pPr().append(level)
    parsed = read(document)
    assert [(h.level, h.title) for h in parsed.headings] == [
        (1, "The title"),
        (1, "One"),
        (2, "Two"),
        (3, "Three"),
    ]


def test_items_of_lists_have_a_mark() -> None:
    document = Document()
    document.add_paragraph("Steps:")
    document.add_paragraph("first", "List Number")
    document.add_paragraph("second", "List Bullet")
    document.add_paragraph("After.")
    assert read(document).text == "Steps:\n- first\n- second\n\nAfter."


def test_tracked_changes_are_read_as_they_are_now() -> None:
    document = Document()
    paragraph = document.add_paragraph("was ")
    paragraph._p.append(wrap("w:ins", "inserted"))
    paragraph._p.append(wrap("w:del", "deleted", "w:delText"))
    assert read(document).text == "was inserted"


def test_content_controls_text_boxes_links_and_breaks_are_read() -> None:
    document = Document()
    document.add_paragraph("one").add_run("\ttab\nline")
    control = OxmlElement("w:sdt")
    content = OxmlElement("w:sdtContent")
    content.append(wrap("w:p", "in a control"))
    control.append(content)
    document.element.body.insert(1, control)
    paragraph = document.add_paragraph("anchor")
    paragraph._p.append(wrap("w:hyperlink", " link"))
    box = (
        "<w:pict><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent></w:pict>"
    )
    paragraph._p.append(
        parse_xml(
            f"<w:r {nsdecls('w')} xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>"
            f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
            "</mc:AlternateContent></w:r>"
        )
    )
    assert read(document).text == "one\ttab\nline\n\nin a control\n\nanchor link\n\nin a box"


def test_comments_are_left_out_and_reported() -> None:
    document = Document()
    paragraph = document.add_paragraph("text")
    document.add_comment(paragraph.runs, "a remark")
    parsed = read(document)
    assert (parsed.text, parsed.left_out) == ("text", ["comments"])


def test_a_table_that_lays_out_the_page_is_read_as_blocks() -> None:
    document = Document()
    cell = document.add_table(1, 2).cell(0, 0)
    cell.paragraphs[0].text = "Left"
    cell.paragraphs[0].style = "Heading 1"
    cell.add_paragraph("words")
    cell.add_table(1, 2).cell(0, 1).text = "inner"
    parsed = read(document)
    assert parsed.text == "Left\n\nwords\n\n | inner".replace("\n\n | ", "\n\n| ")
    assert [h.title for h in parsed.headings] == ["Left"]


def test_a_document_without_text_is_none() -> None:
    assert refuse(Format.DOCX, save(Document())).code == "no_text"
    assert refuse(Format.DOCX, write_docx(" ", "")).code == "no_text"


@pytest.mark.parametrize("data", [b"words", b"PK\x03\x04", write_docx("x")[:1000]])
def test_a_broken_file_has_a_reason_for_people(data: bytes) -> None:
    refusal = refuse(Format.DOCX, data)
    assert (refusal.code, str(refusal)) == (
        "broken",
        "The file can't be read: it is damaged, or no DOCX file.",
    )


def test_broken_xml_is_broken_and_deep_nesting_too() -> None:
    data = write_docx("x")
    for body in (b"<w:document", b"<a>" * 100_000):
        assert refuse(Format.DOCX, replace_part(data, "word/document.xml", body)).code == "broken"


def test_l09_a_password_is_the_reason_of_an_office_file_too() -> None:
    for format_ in (Format.DOCX, Format.XLSX, Format.PPTX):
        refusal = refuse(format_, ENCRYPTED)
        assert (refusal.code, str(refusal)) == ("password", "The file is protected by a password.")
        assert refuse(format_, OLDER).code == "unsupported"


def write_paragraph(document: Any, inner: str) -> None:
    document.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w')}>{inner}</w:p>"))


def test_tabs_of_a_letterhead_are_tabs() -> None:
    document = Document()
    tab = '<w:r><w:ptab w:relativeTo="margin" w:alignment="right" w:leader="none"/></w:r>'
    write_paragraph(document, f"<w:r><w:t>Left</w:t></w:r>{tab}<w:r><w:t>Right</w:t></w:r>")
    assert read(document).text == "Left\tRight"


def test_the_reading_of_a_word_does_not_part_it() -> None:
    document = Document()
    ruby = (
        "<w:r><w:ruby><w:rt><w:r><w:t>{}</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>{}</w:t></w:r></w:rubyBase></w:ruby></w:r>"
    )
    write_paragraph(document, ruby.format("ひょう", "表") + ruby.format("じ", "示"))
    parsed = read(document)
    assert (parsed.text, parsed.left_out) == ("表示", ["readings of words"])


def test_embedded_documents_are_reported_and_are_the_reason_where_there_is_no_more() -> None:
    document = Document()
    document.element.body.insert(0, parse_xml(f"<w:altChunk {nsdecls('w')}/>"))
    assert "embedded documents" in str(refuse(Format.DOCX, save(document)))
    document.add_paragraph("text")
    assert read(document).left_out == ["embedded documents"]


def test_an_outline_level_that_is_none_is_passed_over() -> None:
    document = Document()
    document.add_heading("One", 1)
    level = OxmlElement("w:outlineLvl")
    level.set(qn("w:val"), "x")
    document.paragraphs[0]._p.get_or_add_pPr().append(level)
    document.add_paragraph("text")
    assert [(h.level, h.title) for h in read(document).headings] == [(1, "One")]
