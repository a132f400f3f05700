from copy import deepcopy
from typing import Any

import pytest
from lxml import etree
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from functions.ingest.chunk import chunk
from shared.files.media import Format
from shared.model import Chunking
from tests.files.office import save, write_pptx
from tests.files.reading import read_file, refuse


def add_box(shapes: Any, text: str) -> None:
    shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.text = text


def make_slides() -> bytes:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "The plans"
    add_box(slide.shapes, "FIRST BOX")
    add_box(slide.shapes, "SECOND BOX")
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(3), Inches(1)).table
    for (row, column), text in {
        (0, 0): "Plan", (0, 1): "Price", (1, 0): "Enterprise", (1, 1): "$4,200/seat",
    }.items():  # fmt: skip
        table.cell(row, column).text = text
    add_box(slide.shapes.add_group_shape().shapes.add_group_shape().shapes, "GROUPED ONE")
    slide.notes_slide.notes_text_frame.text = "NOTE-77"
    hidden = slides.slides.add_slide(slides.slide_layouts[6])
    add_box(hidden.shapes, "HIDDEN-77")
    hidden.element.set("show", "0")
    add_box(slides.slides.add_slide(slides.slide_layouts[6]).shapes, "LAST\vBOX")
    return save(slides)


def test_l18_boxes_tables_groups_and_notes_are_read_apart() -> None:
    document = read_file(Format.PPTX, make_slides())
    assert document.text == (
        "The plans\n\nFIRST BOX\n\nSECOND BOX\n\nPlan | Price\nEnterprise | $4,200/seat\n\n"
        "GROUPED ONE\n\nNOTE-77\n\nLAST\nBOX"
    )


def test_l18_a_slide_is_a_page_and_a_section() -> None:
    passages = chunk(read_file(Format.PPTX, make_slides()), Chunking())
    assert [(p.page, p.heading) for p in passages] == [(1, "The plans"), (3, "")]


def test_l18_a_box_with_a_formula_is_read_with_it() -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    add_box(slide.shapes, "We factorise as ")
    box = slide.shapes[0].element
    formula = etree.fromstring(
        '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">'
        '<m:r xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:t>x</m:t>'
        "</m:r></a14:m>"
    )
    next(box.iter("{*}p")).append(formula)
    alternatives = etree.fromstring(
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/'
        '2006"><mc:Choice Requires="a14"/><mc:Fallback/></mc:AlternateContent>'
    )
    box.addprevious(alternatives)
    alternatives[1].append(deepcopy(box))
    alternatives[0].append(box)
    add_box(slide.shapes, "then")
    assert read_file(Format.PPTX, save(slides)).text == "We factorise as x\n\nthen"


def test_l18_a_chart_is_read_as_a_table() -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["East", "West"]
    data.add_series("2025", (19.2, 21.4))
    data.add_series("2026", (20, None))
    kind = XL_CHART_TYPE.COLUMN_CLUSTERED
    chart = slide.shapes.add_chart(kind, 0, 0, Inches(4), Inches(3), data).chart
    chart.chart_title.text_frame.text = "Revenue"
    text = read_file(Format.PPTX, save(slides)).text
    assert text == "Revenue\n\n| 2025 | 2026\nEast | 19.2 | 20\nWest | 21.4 |"


def test_l17_hidden_shapes_are_left_out_and_reported_or_read_where_that_is_wanted() -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    add_box(slide.shapes, "seen")
    add_box(slide.shapes.add_group_shape().shapes, "HIDDEN-77")
    next(slide.shapes[1].element.iter("{*}cNvPr")).set("hidden", "1")
    document = read_file(Format.PPTX, save(slides))
    assert (document.text, document.left_out) == ("seen", ["hidden shapes"])
    document = read_file(Format.PPTX, save(slides), include_hidden=True)
    assert (document.text, document.left_out) == ("seen\n\nHIDDEN-77", [])


@pytest.mark.parametrize(
    "kind",
    [
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments",
        "http://schemas.microsoft.com/office/2018/10/relationships/comments",
    ],
)
def test_comments_are_reported(kind: str) -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    add_box(slide.shapes, "seen")
    part = Part(
        PackURI("/ppt/comments/comment1.xml"), "application/xml", slide.part.package, b"<x/>"
    )
    slide.part.relate_to(part, kind)
    assert read_file(Format.PPTX, save(slides)).left_out == ["comments"]


def test_l17_hidden_slides_are_left_out_and_reported_or_read_where_that_is_wanted() -> None:
    document = read_file(Format.PPTX, make_slides())
    assert document.left_out == ["hidden slide 2"]
    document = read_file(Format.PPTX, make_slides(), include_hidden=True)
    assert document.find_page(document.text.index("HIDDEN-77")) == 2


@pytest.mark.parametrize("data", [b"words", b"PK\x03\x04", write_pptx("x")[:2000]])
def test_a_broken_file_has_a_reason_for_people(data: bytes) -> None:
    assert "no PPTX file" in str(refuse(Format.PPTX, data))


def test_slides_without_text_are_none() -> None:
    assert refuse(Format.PPTX, write_pptx(" ", "")).code == "no_text"
