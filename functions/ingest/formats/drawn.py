"""DrawingML, in which slides, diagrams and charts have their text."""

from lxml.etree import _Element as Element
from pptx.oxml.ns import qn

_PARAGRAPH, _BREAK = qn("a:p"), qn("a:br")
_TEXT = {qn("a:t"), "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"}


def read_paragraphs(element: Element) -> str:
    """Returns the text below an element, a line each paragraph, formulas in it included."""
    return "\n".join(_read(paragraph) for paragraph in element.iter(_PARAGRAPH))


def _read(paragraph: Element) -> str:
    written = (each for each in paragraph.iter() if each.tag in _TEXT or each.tag == _BREAK)
    return "".join("\n" if each.tag == _BREAK else each.text or "" for each in written)
