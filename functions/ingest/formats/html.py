"""HTML: what a browser would show, block by block; a block's words stay together, blocks apart."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.options import Options
from functions.ingest.formats.plain import read_text
from functions.ingest.formats.tables import join_cells
from shared.errors import DocumentRefused
from shared.files.decode import Decoded

CALLED = "HTML"

_META = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)|<\?xml[^>]{0,200}?encoding=["']([\w.:-]+)""",
    re.IGNORECASE,
)
_LOOKED_AT = 4096  # bytes in which a charset may be declared

_NEVER_SHOWN = {
    *("script", "style", "noscript", "template", "head", "title", "iframe", "object", "embed"),
    *("audio", "video", "canvas", "datalist", "defs", "desc", "metadata", "annotation", "rp"),
}
_READINGS = {"rt", "rtc"}  # they stand above a word, and would part it
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details"),
    *("dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
    *("header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup"),
    *("option", "p", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
    *("thead", "tr", "ul", *_HEADINGS),
}
# A table with these in it lays out a page; its cells are blocks, no row of a reader's table.
_LAID_OUT = "table, h1, h2, h3, h4, h5, h6, ul, ol, dl, pre, blockquote, form"
_SELF_CLOSED = re.compile(
    r"<(a|div|iframe|noscript|p|script|span|style|td|textarea|title)\b((?:\s[^<>]*)?)/>",
    re.IGNORECASE,
)
_LONGEST_TITLE = 300  # characters of a heading that has blocks in it, and is no container of them
# Headings in headings that are looked at: each look takes as long as all that is in it.
_DEEPEST = 8
_ANY_BLOCK = ", ".join(sorted(_BLOCKS))
_HIDING = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_WHITE = re.compile(r"[ \t\n\r\f\xa0]+")
_BLANKS = re.compile(r" {2,}")
_AROUND_BREAK = re.compile(r" *\n *")


def read(data: bytes, charset: str | None, options: Options) -> ParsedDocument:
    """Returns the text of a page, its headings, and what it calls itself."""
    decoded = _decode(data, charset)
    draft = Draft(options)
    title = write_html(draft, _close(decoded.text))
    document = draft.finish("The page shows no text.", title)
    return replace(document, encoding=decoded.encoding, guessed=decoded.guessed)


def _close(markup: str) -> str:
    """Returns a page that is written as XML with the elements closed that HTML leaves open."""
    is_xml = markup.lstrip().startswith("<?xml")
    return _SELF_CLOSED.sub(r"<\1\2></\1>", markup) if is_xml else markup


def write_html(draft: Draft, markup: str) -> str | None:
    """Adds what a page shows; returns its title."""
    tree = LexborHTMLParser(markup)
    if tree.root is not None:
        writer = _Writer(draft)
        writer.write(tree.root)
    title = tree.css_first("head > title")
    return title.text() if title is not None else None


def _decode(data: bytes, charset: str | None) -> Decoded:
    """Decodes by what the sender says, then by what the page says of itself where that is true."""
    said = _META.search(data, 0, _LOOKED_AT)
    if charset is None and said is not None:
        try:
            return read_text(data, (said[1] or said[2]).decode("ascii"))
        except DocumentRefused as refusal:
            if refusal.code != "encoding":
                raise
    return read_text(data, charset)


class _Writer:
    """Walks a tree without recursion, as pages nest as deep as they like."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._inline: list[str] = []
        self._cells: list[str] | None = None  # of the row that is open, in a reader's table
        self._is_first_row = False
        self._bullet = ""
        self._preformatted = 0
        self._tables: list[bool] = []
        self._headings: list[bool] = []  # those that are open; some hold a whole page

    def write(self, root: LexborNode) -> None:
        for node, is_end in _walk(root, self._is_shown):
            if is_end:
                self._leave(node.tag or "")
            elif node.is_text_node:
                self._add_text(node.text_content or "")
            else:
                self._enter(node)
        self._end_block()

    def _is_shown(self, node: LexborNode) -> bool:
        if node.is_text_node:
            return True
        if not node.is_element_node or node.tag in _NEVER_SHOWN:
            return False
        if node.tag in _READINGS:
            self._draft.leave_out("readings of words")
            return False
        if _is_hidden(node) and not self._draft.options.include_hidden:
            self._draft.leave_out("hidden elements")
            return False
        return True

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _BLOCKS:
            self._end_block()
        if tag in _HEADINGS:
            self._headings.append(len(self._headings) < _DEEPEST and _is_title(node))
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            self._add_text(f" {node.attributes.get('alt') or ''} ")
        elif tag == "li":
            self._bullet = "- "
        elif tag == "pre":
            self._preformatted += 1
        elif tag == "table":
            is_laid_out = len(node.css(_LAID_OUT)) > 1  # it is among them itself
            self._tables.append(not is_laid_out)
            self._is_first_row = True
        elif tag == "tr" and self._is_in_table():
            self._cells = []

    def _leave(self, tag: str) -> None:
        if tag in {"td", "th"} and self._cells is not None:
            self._cells.append(self._take_inline())
            return
        if tag in _HEADINGS and self._headings.pop():
            self._draft.add_heading(_HEADINGS[tag], self._take_inline())
        elif tag in _BLOCKS:
            self._end_block()
        if tag == "li":
            self._bullet = ""
        elif tag == "pre":
            self._preformatted -= 1
        elif tag == "tr" and self._cells is not None:
            self._end_row()
        elif tag == "table":
            self._tables.pop()

    def _is_in_table(self) -> bool:
        return bool(self._tables and self._tables[-1])

    def _add_text(self, text: str) -> None:
        self._inline.append(text if self._preformatted else _WHITE.sub(" ", text))

    def _take_inline(self) -> str:
        text = "".join(self._inline)
        self._inline.clear()
        if self._preformatted:
            return text
        return _AROUND_BREAK.sub("\n", _BLANKS.sub(" ", text)).strip()

    def _end_block(self) -> None:
        if self._cells is not None or any(self._headings):  # a block inside a cell or a heading
            self._inline.append(" ")
            return
        text = self._take_inline()
        if not text.strip():
            return
        if self._bullet:
            self._draft.add_line(self._bullet + text)
        else:
            self._draft.add_paragraph(text)
        self._bullet = ""

    def _end_row(self) -> None:
        row = join_cells(self._cells or ())
        self._cells = None
        if self._is_first_row:
            self._draft.add_paragraph(row)
        else:
            self._draft.add_line(row)
        self._is_first_row = self._is_first_row and not row


def _walk(
    root: LexborNode, is_shown: Callable[[LexborNode], bool]
) -> Iterator[tuple[LexborNode, bool]]:
    """Yields the shown nodes from a root on; elements twice, the second time as their end."""
    node = root
    while True:
        enters = is_shown(node)
        if enters:
            yield node, False
        below = node.first_child if enters else None
        if below is not None:
            node = below
            continue
        if enters and node.is_element_node:
            yield node, True
        while (after := node.next) is None or node.mem_id == root.mem_id:
            above = node.parent
            if above is None or node.mem_id == root.mem_id:
                return
            node = above
            yield node, True
        node = after


def _is_title(heading: LexborNode) -> bool:
    blocks = heading.css(_ANY_BLOCK)  # it is among them itself
    return len(blocks) == 1 or len(heading.text()) <= _LONGEST_TITLE


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return "hidden" in attributes or bool(_HIDING.search(attributes.get("style") or ""))
