"""PDF: the text of each page, in the order in which it is drawn."""

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import groupby

from pypdf import PageObject, PdfReader
from pypdf.errors import LimitReachedError

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused

CALLED = "PDF"

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+)([-\u2010\u00ad])\n([^\W\d_]+)")
_HIDDEN = 0b100010  # flags of a note: hidden, or not shown on a screen
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the pages of a file; words that were parted at the end of a line are joined.

    A page that can't be read, or that is a picture, is left out and reported.
    """
    try:
        return _read(data, Draft(options))
    except LimitReachedError as error:
        raise DocumentRefused(
            "expands_too_far", "A part of the file expands further than is allowed."
        ) from error


def join_broken_words(pages: Sequence[str]) -> list[str]:
    """Returns the pages with the words joined that a line's end parts.

    The hyphen goes, unless the document has the word with it elsewhere, or both parts as words of
    their own and never the whole.
    """
    known: set[str] = set()
    for page in pages:
        known.update(word.lower() for word in _WORD.findall(_BROKEN.sub(" ", page)))

    def join(broken: re.Match[str]) -> str:
        first, hyphen, second = broken.groups()
        if not second[0].islower():
            return broken[0]
        halves = {first.lower(), second.lower()}
        is_compound = "-".join([first, second]).lower() in known or halves <= known
        if hyphen == "\u00ad" or not is_compound or (first + second).lower() in known:
            return first + second
        return f"{first}-{second}"

    return [_BROKEN.sub(join, page) for page in pages]


def _read(data: bytes, draft: Draft) -> ParsedDocument:
    reader = PdfReader(BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentRefused("password", "The file is protected by a password.")
    pages, failed, pictures = [], [], []
    for number, page in enumerate(reader.pages, start=1):
        text = _extract(page)
        if text is None:
            failed.append(number)
        elif not text.strip() and _has_pictures(page):
            pictures.append(number)
        pages.append("\n".join([text or "", *_tolerate(_list_typed(page))]))
    for page_text in join_broken_words(pages):
        draft.begin_page()
        draft.add_paragraph(_TRAILING.sub("", page_text))
    for value in _list_form_values(reader):
        draft.add_line(value)
    for name in _tolerate(_list_attachments(reader)):
        draft.leave_out(f"attachment {name!r}")
    for numbers, what in ((failed, "that can't be read"), (pictures, "that are pictures")):
        if numbers:
            draft.leave_out(f"pages {what}: {', '.join(_list_ranges(numbers))}")
    if failed and len(failed) == len(pages):
        raise DocumentRefused("broken", "None of the pages can be read: the file is damaged.")
    return draft.finish(
        "The pages are pictures: there is no text in the file."
        if pictures
        else "The file has no text on any page."
    )


def _extract(page: PageObject) -> str | None:
    """Returns a page's text; None where it can't be read, which is no reason to lose the others."""
    try:
        return page.extract_text()
    except (LimitReachedError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - pypdf raises anything over a broken page
        return None


def _has_pictures(page: PageObject) -> bool:
    try:
        return "/XObject" in page["/Resources"]  # type: ignore[operator]
    except Exception:  # noqa: BLE001 - as above
        return False


def _tolerate(found: Iterator[str]) -> Iterator[str]:
    """Yields what there is, as far as it can be read."""
    try:
        yield from found
    except LimitReachedError:
        raise
    except Exception:  # noqa: BLE001 - as above
        return


def _list_typed(page: PageObject) -> Iterator[str]:
    """Yields what was typed onto a page, as into a form without fields: it is not drawn with it."""
    for reference in page.get("/Annots") or ():
        note = reference.get_object()
        if note.get("/Subtype") == "/FreeText" and not note.get("/F", 0) & _HIDDEN:
            yield str(note.get("/Contents", ""))


def _list_attachments(reader: PdfReader) -> Iterator[str]:
    yield from (file.name for file in reader.attachment_list)


def _list_form_values(reader: PdfReader) -> Iterator[str]:
    """Yields what was filled into the fields of a form, which is drawn on no page."""
    try:
        values = reader.get_form_text_fields() or {}
    except LimitReachedError:
        raise
    except Exception:  # noqa: BLE001 - as above
        return
    for name, value in values.items():
        if value and str(value).strip():
            yield f"{name}: {value}"


def _list_ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yields rising numbers as "3", "7-9"."""
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        pages = [number for _, number in run]
        yield str(pages[0]) if len(pages) == 1 else f"{pages[0]}-{pages[-1]}"
