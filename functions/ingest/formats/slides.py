"""PPTX: the slides in their order, each a page; shapes in theirs, then the speaker's notes."""

from collections.abc import Iterable

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
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.office import check_package
from functions.ingest.formats.options import Options
from functions.ingest.formats.tables import join_cells

CALLED = "PPTX"

_DIAGRAM = f"{RELATIONSHIP_TYPE.THEME.rpartition('/')[0]}/diagramData"
_LINE_BREAK = "\v"


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the text of the slides: each a section, its title the heading, its number the page.

    Hidden slides are left out and reported; they keep their numbers.
    """
    draft = Draft(options)
    for number, slide in enumerate(Presentation(check_package(data, options)).slides, start=1):
        draft.begin_page()
        if slide.element.get("show") in {"0", "false"} and not options.include_hidden:
            draft.leave_out(f"hidden slide {number}")
            continue
        _write_slide(draft, slide)
    return draft.finish("There is no text on any slide.")


def _write_slide(draft: Draft, slide: Slide) -> None:
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        draft.add_heading(1, title.text_frame.text)
    else:
        draft.begin_section(1)
    title_id = None if title is None else title.shape_id
    _write_shapes(draft, (shape for shape in slide.shapes if shape.shape_id != title_id))
    for relation in slide.part.rels.values():
        if relation.reltype == _DIAGRAM and not relation.is_external:
            _write_diagram(draft, relation.target_part.blob)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        draft.add_paragraph(slide.notes_slide.notes_text_frame.text)


def _write_shapes(draft: Draft, shapes: Iterable[BaseShape]) -> None:
    for shape in shapes:
        if isinstance(shape, GroupShape):
            _write_shapes(draft, shape.shapes)
        elif isinstance(shape, GraphicFrame) and shape.has_table:
            _write_table(draft, shape.table)
        elif isinstance(shape, Shape):
            draft.add_paragraph(shape.text_frame.text.replace(_LINE_BREAK, "\n"))


def _write_table(draft: Draft, table: Table) -> None:
    add = draft.add_paragraph
    for row in table.rows:
        if line := join_cells(cell.text for cell in row.cells if not cell.is_spanned):
            add(line)
            add = draft.add_line


def _write_diagram(draft: Draft, blob: bytes) -> None:
    """Adds the texts of a diagram (SmartArt), which stands in a part of its own."""
    for paragraph in parse_xml(blob).iter(qn("a:p")):
        draft.add_line("".join(text.text or "" for text in paragraph.iter(qn("a:t"))))
