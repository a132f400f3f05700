from io import BytesIO

import pytest

from functions.ingest.document import Heading, ParsedDocument
from functions.ingest.formats.options import Options
from functions.ingest.formats.wire import (
    Answer,
    Request,
    read_answer,
    read_request,
    write_answer,
    write_request,
)
from shared.errors import DocumentRefused
from shared.files.media import Format
from shared.model import Span

REQUEST = Request(Format.CSV, b"a\nb\xff\n", "gbk", Options(include_hidden=True), 5, 1_000)
DOCUMENT = ParsedDocument(
    text="# Ü\n退款 😀",
    start=1,
    headings=[Heading(1, "Ü", Span(0, 4))],
    pages=[0, 2],
    title="T",
    encoding="gb18030",
    guessed=True,
    left_out=["comments"],
)


def test_requests_come_as_they_were_sent_one_after_another() -> None:
    stream = BytesIO()
    write_request(stream, REQUEST)
    write_request(stream, REQUEST)
    stream.seek(0)
    assert [read_request(stream), read_request(stream), read_request(stream)] == [
        REQUEST,
        REQUEST,
        None,
    ]


def test_a_document_comes_as_it_was_sent() -> None:
    stream = BytesIO()
    write_answer(stream, Answer(DOCUMENT, is_spent=True))
    stream.seek(0)
    assert read_answer(stream) == Answer(DOCUMENT, None, is_spent=True)
    assert read_answer(stream) is None


def test_a_refusal_comes_with_its_code_and_reason() -> None:
    stream = BytesIO()
    write_answer(stream, Answer(DocumentRefused("broken", "It is damaged."), "KeyError at a.py:1"))
    stream.seek(0)
    answer = read_answer(stream)
    assert answer is not None
    assert isinstance(answer.result, DocumentRefused)
    assert (answer.result.code, str(answer.result)) == ("broken", "It is damaged.")
    assert answer.cause == "KeyError at a.py:1"


@pytest.mark.parametrize("length", [0, 1, 40])
def test_an_answer_that_breaks_off_is_none(length: int) -> None:
    stream = BytesIO()
    write_answer(stream, Answer(DOCUMENT))
    assert read_answer(BytesIO(stream.getvalue()[:length])) is None
    assert read_answer(BytesIO(stream.getvalue()[:-1])) is None
