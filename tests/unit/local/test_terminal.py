import io
import json
import sys

import pytest

from local.terminal import write_json


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "gbk"])
def test_p08_json_is_utf_8_whatever_the_terminal_reads(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    written = io.BytesIO()
    stdout = io.TextIOWrapper(written, encoding=encoding, errors="replace")
    monkeypatch.setattr(sys, "stdout", stdout)
    stdout.write("before\n")
    write_json({"title": "退款 é 😀"})
    write_json({"name": "not \udcff text"})  # a file's name may be no text
    stdout.flush()
    before, *lines = written.getvalue().decode().splitlines()
    assert before == "before"
    assert [json.loads(line) for line in lines] == [
        {"title": "退款 é 😀"},
        {"name": "not ? text"},
    ]
