"""PDF files written by hand, operator by operator, so that a test says what is drawn and how."""

from collections.abc import Sequence
from io import BytesIO

from pypdf import PdfReader, PdfWriter

_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
_PICTURE = (
    b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray"
    b" /BitsPerComponent 8 /Length 1 >>\nstream\n\0\nendstream"
)
_RESOURCES = "/Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >>"
_EMPTY = "/Resources << >>"
PICTURE = "q 100 0 0 100 0 0 cm /Im1 Do Q"
"""A page with nothing but a picture."""


def show(*lines: str) -> str:
    """Returns the operators that draw lines of text, one below the other."""
    drawn = " 0 -14 Td ".join(f"({line}) Tj" for line in lines)
    return f"BT /F1 12 Tf 72 720 Td {drawn} ET"


def draw(operators: str) -> str:
    """Returns a page of text operators, a font chosen and the start set."""
    return f"BT /F1 12 Tf 72 720 Td {operators} ET"


def write_pdf(pages: Sequence[str]) -> bytes:
    """Returns a file with these pages, each written as its operators; "" is a blank one."""
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _FONT,
        _PICTURE,
    ]
    for n, operators in enumerate(pages):
        resources = _RESOURCES if operators else _EMPTY
        stream = operators.encode("cp1252")
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources}"
            f" /Contents {6 + 2 * n} 0 R >>".encode(),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        ]
    return _write_objects(objects)


def encrypt(data: bytes, user: str, owner: str, algorithm: str = "AES-256") -> bytes:
    """Returns the file under a user's password, or an owner's alone."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(data)))
    writer.encrypt(user, owner, algorithm=algorithm)
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def _write_objects(objects: Sequence[bytes]) -> bytes:
    written, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(written))
        written += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return written + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer << /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table, len(objects) + 1, len(written))
    )
