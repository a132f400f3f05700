import re
import zlib
from io import BytesIO

import pytest
from pypdf import PdfWriter
from pypdf.annotations import FreeText
from pypdf.constants import AnnotationFlag

from functions.ingest.chunk import chunk
from functions.ingest.formats.pdf import join_broken_words
from shared.files.media import Format
from shared.model import Chunking, Strategy
from tests.files.pdf import PICTURE, draw, encrypt, show, write_pdf
from tests.files.reading import read_file, refuse


def read(*pages: str) -> str:
    return read_file(Format.PDF, write_pdf(pages)).text


def test_l06_words_at_the_end_of_a_page_or_line_stay_apart() -> None:
    assert read(show("the last phase"), show("insufficiency")) == "the last phase\n\ninsufficiency"
    assert read(show("the last phase", "insufficiency")) == "the last phase\ninsufficiency"


@pytest.mark.parametrize(
    ("operators", "text"),
    [
        ("[(Revenue)-600(rose)]TJ", "Revenue rose"),
        ("(Revenue)Tj 60 0 Td (rose)Tj", "Revenue rose"),
        ("[(Post)10(chirurgie)-20( pt)15(erygion)]TJ", "Postchirurgie pterygion"),
        ("(A)Tj ET BT /F1 12 Tf 300 720 Td (B)Tj", "A B"),
    ],
)
def test_l07_words_are_told_apart_as_they_were_in_the_last_version_of_pypdf(
    operators: str, text: str
) -> None:
    assert read(draw(operators)) == text


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_l09_a_user_s_password_is_the_reason_and_an_owner_s_is_none(algorithm: str) -> None:
    plain = write_pdf([show("words")])
    refusal = refuse(Format.PDF, encrypt(plain, "user", "owner", algorithm))
    assert refusal.code == "password"
    assert str(refusal) == "The file is protected by a password."
    assert read_file(Format.PDF, encrypt(plain, "", "owner", algorithm)).text == "words"


@pytest.mark.parametrize("strategy", [each for each in Strategy if each is not Strategy.WHOLE])
@pytest.mark.parametrize(("size", "overlap"), [(100, 20), (400, 40), (400, 200)])
def test_l22_every_page_has_its_physical_number(
    strategy: Strategy, size: int, overlap: int
) -> None:
    pages = [show(f"marker-{n}.", *["and many more words of this page"] * 28) for n in range(1, 61)]
    pages[29] = ""
    document = read_file(Format.PDF, write_pdf(pages))
    assert len(document.pages) == 60
    passages = chunk(document, Chunking(strategy, size, overlap))
    found = [(p.page, int(n)) for p in passages for n in re.findall(r"marker-(\d+)", p.text)]
    assert all(page == n for page, n in found)
    assert {n for _, n in found} == {*range(1, 61)} - {30}
    assert None not in [passage.page for passage in passages]


def test_l22_a_chunk_over_two_pages_has_the_first() -> None:
    document = read_file(Format.PDF, write_pdf([show("One."), show("Two."), show("Three.")]))
    assert [(p.text, p.page) for p in chunk(document, Chunking())] == [
        ("One.\n\nTwo.\n\nThree.", 1)
    ]


def test_pages_that_are_pictures_are_reported() -> None:
    document = read_file(Format.PDF, write_pdf([PICTURE, show("x"), "", PICTURE, PICTURE]))
    assert (document.text, document.left_out) == ("x", ["pages that are pictures: 1, 4-5"])
    refusal = refuse(Format.PDF, write_pdf([PICTURE]))
    assert (refusal.code, str(refusal)) == (
        "no_text",
        "The pages are pictures: there is no text in the file.",
    )
    assert refuse(Format.PDF, write_pdf([""])).code == "no_text"


def test_a_page_that_can_t_be_read_is_reported_and_the_others_are_read() -> None:
    data = write_pdf([show("one"), "(broken", show("three")])
    data = data.replace(b"/Contents 8 0 R", b"/Contents (xx)", 1)
    document = read_file(Format.PDF, data)
    assert document.text == "one\n\nthree"
    assert document.find_page(document.text.index("three")) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"words",
        write_pdf([show("x")])[:150],
        b"%PDF-1.7\n" + bytes(range(256)) * 20,
    ],
)
def test_a_broken_file_has_a_reason_for_people(data: bytes) -> None:
    refusal = refuse(Format.PDF, data)
    assert refusal.code == "broken"
    assert str(refusal) == "The file can't be read: it is damaged, or no PDF file."


def test_a_stream_that_expands_too_far_is_refused() -> None:
    packed = zlib.compress(bytes(80_000_000), 9)
    data = write_pdf([show("x")])
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed)
    start, end = data.index(b"6 0 obj\n") + 8, data.index(b"\nendobj", data.index(b"6 0 obj"))
    refusal = refuse(Format.PDF, data[:start] + stream + data[end:])
    assert refusal.code == "expands_too_far"


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("the insuffi-\nciency of it", "the insufficiency of it"),
        ("well-known and well-\nknown", "well-known and well-known"),
        ("long as a term, long-\nterm plans", "long as a term, long-term plans"),
        ("long term longterm long-\nterm", "long term longterm longterm"),
        ("soft\u00ad\nware", "software"),
        ("Co-\nOp and 5-\nfold, -\nx", "Co-\nOp and 5-\nfold, -\nx"),
        ("Rück-\nerstattung", "Rückerstattung"),
    ],
)
def test_words_parted_at_the_end_of_a_line_are_joined(text: str, joined: str) -> None:
    assert join_broken_words([text]) == [joined]


def test_other_pages_tell_how_a_word_is_written() -> None:
    assert join_broken_words(["a re-\nentry", "re-entry"]) == ["a re-entry", "re-entry"]


def test_what_is_typed_onto_a_page_is_read_with_it() -> None:
    writer = PdfWriter(clone_from=BytesIO(write_pdf([show("Name:"), show("Page two")])))
    shown, hidden = (FreeText(text=text, rect=(50, 50, 200, 90)) for text in ("Ada", "HIDDEN-77"))
    hidden.flags = AnnotationFlag.HIDDEN
    writer.add_annotation(0, shown)
    writer.add_annotation(0, hidden)
    document = read_file(Format.PDF, save(writer))
    assert document.text == "Name:\nAda\n\nPage two"
    assert document.find_page(document.text.index("Ada")) == 1


def test_attachments_are_reported() -> None:
    writer = PdfWriter(clone_from=BytesIO(write_pdf([show("words")])))
    writer.add_attachment("data ü.txt", b"attached")
    document = read_file(Format.PDF, save(writer))
    assert (document.text, document.left_out) == ("words", ["attachment 'data ü.txt'"])


def save(writer: PdfWriter) -> bytes:
    written = BytesIO()
    writer.write(written)
    return written.getvalue()
