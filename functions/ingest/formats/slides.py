"""PPTX: the slides in their order, each a page; shapes in theirs, then the speaker's notes."""

from collections.abc import Iterable

from lxml.etree import _Element as Element
from pptx import Presentation
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide
from pptx.table import Table

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.charts import write_chart
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.drawn import read_paragraphs
from functions.ingest.formats.office import check_package
from functions.ingest.formats.options import Options
from functions.ingest.formats.tables import join_cells

CALLED = "PPTX"

_DIAGRAM = f"{RELATIONSHIP_TYPE.THEME.rpartition('/')[0]}/diagramData"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_ON = {"1", "true"}


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the text of the slides: each a section, its title the heading, its number the page.

    Hidden slides and shapes are left out and reported; slides keep their numbers.
    """
    draft = Draft(options)
    for number, slide in enumerate(Presentation(check_package(data, options)).slides, start=1):
        draft.begin_page()
        if slide.element.get("show") in {"0", "false"} and not options.include_hidden:
            draft.leave_out(f"hidden slide {number}")
            continue
        _choose_alternatives(slide.shapes._spTree)
        _write_slide(draft, slide)
    return draft.finish("There is no text on any slide.")


def _choose_alternatives(tree: Element) -> None:
    """Puts what a newer program shows in the place of its alternatives, as for boxes with formulas.

    python-pptx passes over all of them.
    """
    for alternatives in list(tree.iter(_ALTERNATIVES)):
        for child in list(alternatives[0]) if len(alternatives) else ():
            alternatives.addprevious(child)
        alternatives.getparent().remove(alternatives)


def _write_slide(draft: Draft, slide: Slide) -> None:
    title = slide.shapes.title
    if title is not None and (words := read_paragraphs(title.element)).strip():
        draft.add_heading(1, words)
    else:
        draft.begin_section(1)
    title_id = None if title is None else title.shape_id
    _write_shapes(draft, (shape for shape in slide.shapes if shape.shape_id != title_id))
    for relation in slide.part.rels.values():
        if relation.reltype == _DIAGRAM and not relation.is_external:
            _write_diagram(draft, relation.target_part.blob)
        elif relation.reltype.endswith("/comments"):  # of Office, or of Microsoft's later ones
            draft.leave_out("comments")
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        draft.add_paragraph(read_paragraphs(slide.notes_slide.notes_text_frame._element))


def _write_shapes(draft: Draft, shapes: Iterable[BaseShape]) -> None:
    for shape in shapes:
        if _is_hidden(shape) and not draft.options.include_hidden:
            draft.leave_out("hidden shapes")
        elif isinstance(shape, GroupShape):
            _write_shapes(draft, shape.shapes)
        elif isinstance(shape, GraphicFrame) and shape.has_table:
            _write_table(draft, shape.table)
        elif isinstance(shape, GraphicFrame) and shape.has_chart:
            write_chart(draft, shape.chart_part._element)
        elif isinstance(shape, Shape):
            draft.add_paragraph(read_paragraphs(shape.element))


def _is_hidden(shape: BaseShape) -> bool:
    return next(shape.element.iter(qn("p:cNvPr"))).get("hidden") in _ON


def _write_table(draft: Draft, table: Table) -> None:
    add = draft.add_paragraph
    for row in table.rows:
        cells = (read_paragraphs(cell._tc) for cell in row.cells if not cell.is_spanned)
        if line := join_cells(cells):
            add(line)
            add = draft.add_line


def _write_diagram(draft: Draft, blob: bytes) -> None:
    """Adds the texts of a diagram (SmartArt), which stands in a part of its own."""
    for line in read_paragraphs(parse_xml(blob)).split("\n"):
        draft.add_line(line)
