"""Files are read in processes that can be filled and hung without harm."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.styles import Font

from functions.ingest.formats.options import Options
from functions.ingest.reader import FileReader
from shared.errors import DocumentRefused
from shared.files.media import Format
from tests.files.office import save, write_xlsx
from tests.files.pdf import show, write_pdf


@pytest.fixture
def reader() -> Iterator[FileReader]:
    reader = FileReader(Options(include_hidden=True), memory=150_000_000)
    yield reader
    reader.close()


def list_children() -> set[int]:
    # Not /proc/self/task/*/children, which leaves some out while others end.
    children: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # one that ended meanwhile
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                children.add(int(stat.parent.name))
    return children


def is_readable(reader: FileReader) -> bool:
    return reader.read(Format.JSON, lambda: b'{"a": 1}', None).text == "a: 1"


def test_a_process_stays_for_the_next_file_of_any_format(reader: FileReader) -> None:
    before = list_children()
    assert reader.read(Format.PDF, lambda: write_pdf([show("words")]), None).text == "words"
    started = list_children() - before
    assert len(started) == 1
    assert reader.read(Format.XLSX, lambda: write_xlsx(["x"]), None).text == "Sheet\n\nx"
    hidden = reader.read(Format.HTML, lambda: b"<p hidden>all", None)
    assert hidden.text == "all"  # as the options say
    assert list_children() - before == started
    reader.close()
    assert list_children() == before


def test_a_process_stays_however_large_the_one_is_that_started_it(reader: FileReader) -> None:
    ballast = b"x" * 320_000_000
    before = list_children()
    assert is_readable(reader)
    del ballast
    started = list_children() - before
    assert len(started) == 1
    assert is_readable(reader)
    assert list_children() - before == started


def test_a_refusal_comes_through_and_the_process_stays(reader: FileReader) -> None:
    assert is_readable(reader)
    started = list_children()
    with pytest.raises(DocumentRefused, match="is no JSON: line 1") as refused:
        reader.read(Format.JSON, lambda: b"{", None)
    assert refused.value.code == "broken"
    assert is_readable(reader)
    assert list_children() == started


def test_bytes_that_are_not_there_cost_no_process(reader: FileReader) -> None:
    def load() -> bytes:
        raise DocumentRefused("internal", "its content is not there")

    assert is_readable(reader)
    started = list_children()
    with pytest.raises(DocumentRefused, match="not there"):
        reader.read(Format.JSON, load, None)
    assert is_readable(reader)
    assert list_children() == started


def test_a_file_that_takes_too_long_is_given_up() -> None:
    reader = FileReader(Options(), seconds=1)
    with pytest.raises(DocumentRefused, match="takes over 1 seconds") as refused:
        reader.read(Format.HTML, lambda: b"<div>" * 400_000, None)
    assert refused.value.code == "too_large"
    reader.close()


def test_a_file_that_takes_too_much_memory_is_given_up(reader: FileReader) -> None:
    with pytest.raises(DocumentRefused, match="more memory than") as refused:
        reader.read(Format.JSON, lambda: b"[" + b"[]," * 4_000_000 + b"[]]", None)
    assert refused.value.code == "expands_too_far"
    assert is_readable(reader)


def test_l15_a_format_in_the_last_row_takes_neither_time_nor_memory() -> None:
    book = Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.active["A1048576"].font = Font(bold=True)
    reader = FileReader(Options(), seconds=5, memory=200_000_000)
    assert reader.read(Format.XLSX, lambda: save(book), None).text == "Sheet\n\na | b\n\na: 1\nb: 2"
    reader.close()


def test_a_process_that_died_while_it_waited_is_replaced(reader: FileReader) -> None:
    before = list_children()
    assert is_readable(reader)
    for pid in list_children() - before:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert is_readable(reader)


def test_threads_have_a_process_each(reader: FileReader) -> None:
    data = write_pdf([show(f"page {n}") for n in range(40)])
    with ThreadPoolExecutor(3) as threads:
        read = [threads.submit(reader.read, Format.PDF, lambda: data, None) for _ in range(9)]
    assert {len(each.result().pages) for each in read} == {40}


def test_no_setting_is_passed_on(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_OPENAI_API_KEY", "secret")
    before = list_children()
    assert is_readable(reader)
    [pid] = list_children() - before
    assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
