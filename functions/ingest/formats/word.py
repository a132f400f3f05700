"""DOCX: what a reader of the document sees, in its order; headers, footers and notes at the end.

The document is walked as XML: python-docx's own paragraphs lack what stands in content controls,
tracked insertions and text boxes.
"""

from collections.abc import Iterator

from docx import Document
from docx.document import Document as Docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import nsmap, qn
from docx.oxml.parser import parse_xml
from lxml.etree import _Element as Element

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.office import check_package
from functions.ingest.formats.options import Options
from functions.ingest.formats.styles import Styles
from functions.ingest.formats.tables import join_cells

CALLED = "DOCX"

_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_PARAGRAPH, _RUN, _TABLE = qn("w:p"), qn("w:r"), qn("w:tbl")
_ROW, _CELL, _BOX = qn("w:tr"), qn("w:tc"), qn("w:txbxContent")
_TEXT = {qn("w:t"), f"{{{nsmap['m']}}}t"}
_WRITTEN = {
    qn("w:tab"): "\t",
    qn("w:ptab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}
# Deleted or moved away, while changes are tracked; and what describes rather than says.
_NOT_READ = {qn("w:del"), qn("w:moveFrom"), qn("w:pPr"), qn("w:rPr"), qn("w:sectPr")}
_READING, _EMBEDDED = qn("w:rt"), qn("w:altChunk")
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_AT_THE_END = (
    RELATIONSHIP_TYPE.HEADER,
    RELATIONSHIP_TYPE.FOOTER,
    RELATIONSHIP_TYPE.FOOTNOTES,
    RELATIONSHIP_TYPE.ENDNOTES,
)


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the text of a document and its headings.

    Hidden text and comments are left out and reported.
    """
    draft = Draft(options)
    document = Document(check_package(data, options))
    writer = _Writer(draft, Styles(document))
    writer.write(document.element.body)
    writer.write_others(document)
    return draft.finish(
        "There is no text but in embedded documents: open the file in Word and save it."
        if document.element.body.find(f".//{_EMBEDDED}") is not None
        else "The document has no text."
    )


class _Writer:
    """Writes what stands in a document, one after another."""

    def __init__(self, draft: Draft, styles: Styles) -> None:
        self._draft = draft
        self._styles = styles

    def write(self, container: Element) -> None:
        """Adds the paragraphs and tables below an element."""
        for child in _list_children(container):
            if child.tag == _PARAGRAPH:
                self._write_paragraph(child)
            elif child.tag == _TABLE:
                self._write_table(child)
            elif child.tag == _EMBEDDED:
                self._draft.leave_out("embedded documents")
            else:
                self.write(child)

    def write_others(self, document: Docx) -> None:
        """Adds headers, footers and notes, the same text once."""
        parts = [rel for rel in document.part.rels.values() if not rel.is_external]
        comments = [r.target_part.blob for r in parts if r.reltype == RELATIONSHIP_TYPE.COMMENTS]
        if any(b"<w:comment " in blob for blob in comments):
            self._draft.leave_out("comments")
        seen: set[str] = set()
        for kind in _AT_THE_END:
            of_kind = [rel.target_part for rel in parts if rel.reltype == kind]
            for part in sorted(of_kind, key=lambda part: part.partname):
                for paragraph in parse_xml(part.blob).iter(_PARAGRAPH):
                    text = self._read(paragraph, [])
                    if text not in seen:
                        self._draft.add_paragraph(text)
                    seen.add(text)

    def _write_paragraph(self, paragraph: Element) -> None:
        boxes: list[Element] = []
        text = self._read(paragraph, boxes)
        level = self._styles.find_level(paragraph)
        if level is not None:
            self._draft.add_heading(level, text)
        elif self._styles.is_item(paragraph) and text.strip():
            self._draft.add_line(f"- {text}")
        else:
            self._draft.add_paragraph(text)
        for box in boxes:
            self.write(box)

    def _write_table(self, table: Element) -> None:
        rows = [list(_find_below(row, _CELL)) for row in _find_below(table, _ROW)]
        if self._is_laid_out(table, rows):
            for row in rows:
                for cell in row:
                    self.write(cell)
            return
        add = self._draft.add_paragraph
        for row in rows:
            if line := join_cells([self._read_cell(cell) for cell in row]):
                add(line)
                add = self._draft.add_line

    def _is_laid_out(self, table: Element, rows: list[list[Element]]) -> bool:
        """Tells whether a table arranges text on the page, and has no rows to be read as such."""
        if all(len(row) < 2 for row in rows) or table.find(f".//{_TABLE}") is not None:  # noqa: PLR2004
            return True
        return any(self._styles.find_level(each) is not None for each in table.iter(_PARAGRAPH))

    def _read_cell(self, cell: Element) -> str:
        merged = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
        if merged is not None and merged.get(qn("w:val")) != "restart":
            return ""  # it goes on from the row above
        boxes: list[Element] = []
        texts = [self._read(each, boxes) for each in _find_below(cell, _PARAGRAPH)]
        texts += [self._read(each, []) for box in boxes for each in box.iter(_PARAGRAPH)]
        return " ".join(texts)

    def _read(self, element: Element, boxes: list[Element]) -> str:
        """Returns the text of a paragraph, and collects the text boxes that are anchored in it."""
        if self._is_hidden(element):
            return ""
        pieces = []
        for child in _list_children(element):
            if child.tag in _TEXT:
                pieces.append(child.text or "")
            elif child.tag in _WRITTEN:
                pieces.append(_WRITTEN[child.tag])
            elif child.tag == _BOX:
                boxes.append(child)
            elif child.tag == _READING:  # it stands above the word, and would part it
                self._draft.leave_out("readings of words")
            elif child.tag == _CHART:
                self._draft.leave_out("charts")
            else:
                pieces.append(self._read(child, boxes))
        return "".join(pieces)

    def _is_hidden(self, element: Element) -> bool:
        if element.tag not in {_RUN, _PARAGRAPH} or self._draft.options.include_hidden:
            return False
        is_hidden = self._styles.hides(element)
        if is_hidden:
            self._draft.leave_out("hidden text")
        return is_hidden


def _list_children(element: Element) -> Iterator[Element]:
    """Yields the elements below one that are read; of alternatives the first."""
    for child in element.iterchildren("*"):
        if child.tag == _ALTERNATIVES:
            yield from list(child.iterchildren("*"))[:1]
        elif child.tag not in _NOT_READ:
            yield child


def _find_below(element: Element, tag: str) -> Iterator[Element]:
    """Yields what has a tag, whatever it is wrapped in, but not within another of the same."""
    for child in _list_children(element):
        if child.tag == tag:
            if child.find(f"{qn('w:trPr')}/{qn('w:del')}") is None:
                yield child
        else:
            yield from _find_below(child, tag)
