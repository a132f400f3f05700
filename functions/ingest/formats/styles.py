"""What the styles of a DOCX make of its paragraphs: headings, items of lists, hidden text."""

import re
from collections.abc import Iterator

from docx.document import Document
from docx.oxml.ns import qn
from lxml.etree import _Element as Element

_HEADING = re.compile(r"heading ([1-9])")
_BODY_LEVEL = 9
_PROPERTIES, _RUN_PROPERTIES = qn("w:pPr"), qn("w:rPr")
_VALUE, _STYLE_ID = qn("w:val"), qn("w:styleId")
_OFF = {"0", "false", "off"}


class Styles:
    """Answers for paragraphs and runs, by what they say themselves and by the styles they name."""

    def __init__(self, document: Document) -> None:
        found = document.styles.element.iterchildren(qn("w:style"))
        self._by_id = {style.get(_STYLE_ID): style for style in found}

    def find_level(self, paragraph: Element) -> int | None:
        """Returns the level of a heading, from 1; None for any other paragraph."""
        for properties in self._list_properties(paragraph):
            level = _read(properties, "w:outlineLvl")
            if level is not None and level.isdecimal():
                return int(level) + 1 if int(level) < _BODY_LEVEL else None
        for style in self._list_styles(paragraph, _PROPERTIES, "w:pStyle"):
            name = (_read(style, "w:name") or "").lower()
            if name == "title":
                return 1
            if numbered := _HEADING.fullmatch(name):
                return int(numbered[1])
        return None

    def is_item(self, paragraph: Element) -> bool:
        """Tells whether a paragraph is an item of a list."""
        for properties in self._list_properties(paragraph):
            number = properties.find(f"{qn('w:numPr')}/{qn('w:numId')}")
            if number is not None:
                return str(number.get(_VALUE)) != "0"  # which takes it out of its style's list
        return False

    def hides(self, run: Element) -> bool:
        """Tells whether a run, or a paragraph by its style, is hidden."""
        named = "w:rStyle" if run.tag == qn("w:r") else "w:pStyle"
        own = _RUN_PROPERTIES if run.tag == qn("w:r") else _PROPERTIES
        for element in (run, *self._list_styles(run, own, named)):
            vanish = element.find(f"{_RUN_PROPERTIES}/{qn('w:vanish')}")
            if vanish is not None:
                return str(vanish.get(_VALUE, "1")) not in _OFF
        return False

    def _list_properties(self, paragraph: Element) -> Iterator[Element]:
        for element in (paragraph, *self._list_styles(paragraph, _PROPERTIES, "w:pStyle")):
            properties = element.find(_PROPERTIES)
            if properties is not None:
                yield properties

    def _list_styles(self, element: Element, properties: str, named: str) -> Iterator[Element]:
        """Yields the style that an element names, then those that this one is based on."""
        own = element.find(properties)
        id_ = None if own is None else _read(own, named)
        seen = set()
        while id_ is not None and id_ not in seen and id_ in self._by_id:
            seen.add(id_)
            yield self._by_id[id_]
            id_ = _read(self._by_id[id_], "w:basedOn")


def _read(element: Element, name: str) -> str | None:
    found = element.find(qn(name))
    return None if found is None else found.get(_VALUE)
