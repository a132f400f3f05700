from collections.abc import Sequence

import pytest

from functions.ingest.chunk import chunk
from functions.ingest.document import ParsedDocument
from functions.ingest.tokens import count_tokens
from shared.files.media import Format
from shared.model import Chunking, Passage
from tests.files.office import write_docx, write_pptx, write_xlsx
from tests.files.pdf import show, write_pdf
from tests.files.reading import read_as_markdown, read_as_plain, read_file, refuse

READ_HERE = {Format.PLAIN}
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)) * 8
OTHERS = [each for each in Format if each not in READ_HERE]


@pytest.mark.parametrize("format_", OTHERS)
def test_an_empty_file_is_no_text(format_: Format) -> None:
    refusal = refuse(format_, b"")
    assert (refusal.code, str(refusal)) == ("no_text", "The file is empty.")


@pytest.mark.parametrize("format_", OTHERS)
@pytest.mark.parametrize("data", [JPEG, bytes(1000), b"PK\x03\x04" + bytes(1000)])
def test_whatever_it_is_the_reason_is_for_people(format_: Format, data: bytes) -> None:
    refusal = refuse(format_, data)
    assert refusal.code in {"broken", "encoding", "no_text"}
    for word in ("Error", "Exception", "Traceback", "functions/", "object"):
        assert word not in str(refusal)


SENTENCE = "One sentence of plain words that is neither long nor short. "
TEXT = (SENTENCE * 600)[:30_000]
LINES = [TEXT[at : at + 60] for at in range(0, len(TEXT), 60)]


def make_mail() -> bytes:
    return b"Subject: x\nContent-Type: text/plain\n\n" + TEXT.encode()


FILES = {
    "txt": lambda: read_as_plain(TEXT.encode()),
    "md": lambda: read_as_markdown(TEXT.encode()),
    "html": lambda: read_file(Format.HTML, f"<p>{TEXT}</p>".encode()),
    "docx": lambda: read_file(Format.DOCX, write_docx(TEXT)),
    "pptx": lambda: read_file(Format.PPTX, write_pptx(TEXT)),
    "pdf": lambda: read_file(Format.PDF, write_pdf([show(*LINES)])),
    "eml": lambda: read_file(Format.MAIL, make_mail()),
    "csv": lambda: read_file(Format.CSV, f"id,text\n1,{TEXT}\n".encode()),
    "xlsx": lambda: read_file(Format.XLSX, write_xlsx(["id", "text"], [1, TEXT])),
    "json": lambda: read_file(Format.JSON, f'{{"text": "{TEXT}"}}'.encode()),
}


def cut(document: ParsedDocument) -> Sequence[Passage]:
    return chunk(document, Chunking(size=100, overlap=20))


@pytest.mark.parametrize("name", FILES)
def test_m13_the_budget_holds_in_every_format_and_30_kb_make_about_as_many_chunks(
    name: str,
) -> None:
    document = FILES[name]()
    passages = cut(document)
    assert max(count_tokens(passage.searchable_text) for passage in passages) <= 100
    expected = len(cut(read_as_plain(TEXT.encode())))
    assert abs(len(passages) - expected) < 0.2 * expected
    assert "".join(document.text.split()).count("".join(SENTENCE.split())) == 500


@pytest.mark.parametrize("name", FILES)
def test_m03_m04_spans_are_exact_in_every_format(name: str) -> None:
    document = FILES[name]()
    passages = cut(document)
    covered: set[int] = set()
    for passage in passages:
        assert passage.span is not None
        assert document.text[passage.span.start : passage.span.end] == passage.text
        covered.update(range(passage.span.start, passage.span.end))
    assert {i for i, c in enumerate(document.text) if not c.isspace()} <= covered
    starts = [passage.span.start for passage in passages if passage.span]
    assert starts == sorted(set(starts))
