import pytest

from functions.ingest.formats.draft import Draft
from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused


def test_paragraphs_lines_and_headings_stand_apart() -> None:
    draft = Draft(Options())
    draft.add_heading(2, " The \n title ")
    draft.add_paragraph("one\r\ntwo\rthree ")
    draft.add_line("- item")
    draft.add_paragraph(" \n")
    draft.add_line("")
    draft.add_paragraph("end")
    document = draft.finish("nothing")
    assert document.text == "The title\n\none\ntwo\nthree\n- item\n\nend"
    [heading] = document.headings
    assert (heading.level, heading.title) == (2, "The title")
    assert document.text[heading.span.start : heading.span.end] == "The title"


def test_what_is_no_text_is_left_out_of_it() -> None:
    draft = Draft(Options())
    draft.add_paragraph("a\0b\ud800c")
    draft.add_paragraph("\0")
    assert draft.finish("nothing").text == "abc"


def test_l22_a_page_begins_where_the_text_before_ends_and_may_be_empty() -> None:
    draft = Draft(Options())
    for text in ("", "one", "", "three"):
        draft.begin_page()
        draft.add_paragraph(text)
    document = draft.finish("nothing")
    assert [document.find_page(document.text.index(word)) for word in ("one", "three")] == [2, 4]
    assert document.find_page(0) == 2


def test_a_document_without_pages_has_none() -> None:
    draft = Draft(Options())
    draft.add_paragraph("x")
    assert draft.finish("nothing").find_page(0) is None


def test_a_section_may_have_no_heading() -> None:
    draft = Draft(Options())
    draft.add_heading(1, "A")
    draft.add_paragraph("a")
    draft.begin_section(1)
    draft.add_paragraph("b")
    document = draft.finish("nothing")
    assert [(h.title, document.text[h.span.start :]) for h in document.headings] == [
        ("A", "A\n\na\n\nb"),
        ("", "\n\nb"),
    ]


def test_nothing_is_no_text_for_the_given_reason() -> None:
    with pytest.raises(DocumentRefused, match="Only pictures") as refused:
        Draft(Options()).finish("Only pictures.")
    assert refused.value.code == "no_text"


def test_text_is_bounded() -> None:
    draft = Draft(Options(most_expanded=10))
    draft.add_paragraph("x" * 8)
    with pytest.raises(DocumentRefused, match="more than 10 characters") as refused:
        draft.add_line("yy")
    assert refused.value.code == "expands_too_far"


def test_what_is_left_out_is_told_once() -> None:
    draft = Draft(Options())
    draft.add_paragraph("x")
    for what in ("comments", "hidden\0 text", "comments"):
        draft.leave_out(what)
    assert draft.finish("nothing").left_out == ["comments", "hidden text"]
