"""Office files as bytes, and what makes them hostile."""

import zipfile
from io import BytesIO
from typing import Any

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

ENCRYPTED = (
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le")
)
"""What begins as every Office file under a password does, and has its one stream."""

OLDER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "WordDocument".encode("utf-16-le")


def save(document: Any) -> bytes:
    """Returns what a document, workbook or presentation is saved as."""
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def write_docx(*paragraphs: str) -> bytes:
    document = Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    return save(document)


def write_xlsx(*rows: list[Any]) -> bytes:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    return save(book)


def write_pptx(*texts: str) -> bytes:
    """Returns slides with one box each."""
    slides = Presentation()
    for text in texts:
        slide = slides.slides.add_slide(slides.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, Inches(5), Inches(5)).text_frame.text = text
    return save(slides)


def replace_part(data: bytes, name: str, content: bytes) -> bytes:
    """Returns the file with other bytes in one of its parts, compressed."""
    written = BytesIO()
    with (
        zipfile.ZipFile(BytesIO(data)) as archive,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for part in archive.namelist():
            target.writestr(part, content if part == name else archive.read(part))
        if name not in archive.namelist():
            target.writestr(name, content)
    return written.getvalue()


def read_part(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return archive.read(name)
