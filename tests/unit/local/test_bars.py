import io
import re
import sys
import time

import pytest

from local.bars import LINE_SECONDS, Bars, Lines, watching


def wait_for(capsys: pytest.CaptureFixture[str], words: str) -> str:
    said, deadline = "", time.monotonic() + 20
    while words not in said and time.monotonic() < deadline:
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


def test_p09_without_a_terminal_lines_go_on_while_a_task_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert LINE_SECONDS < 5
    with Lines(pause=0.02) as lines:
        lines.begin("Ingesting", 40, "documents")
        lines.advance("Ingesting", 12)
        said = wait_for(capsys, "12 of 40")
        assert re.search(r"Ingesting: 12 of 40 documents, [\d.]+ a second\n", said)
        lines.say("a.pdf: The file is damaged.")
        assert wait_for(capsys, "damaged").endswith("a.pdf: The file is damaged.\n")
        lines.begin("Downloading", 90_000_000)
        lines.advance("Downloading", 45_000_000)
        lines.advance("Downloading", -20_000_000)
        said = wait_for(capsys, "Downloading: 25 of 90 MB")
        assert "Downloading (90 MB) ...\n" in said
        lines.begin("Starting")
        assert "Starting: 0 s" in wait_for(capsys, "Starting: 0 s")
        lines.finish("Ingesting")
        assert "Ingesting: done in 0" in wait_for(capsys, "done")


def test_p08_without_a_terminal_nothing_moves(capsys: pytest.CaptureFixture[str]) -> None:
    with watching() as watcher:
        assert isinstance(watcher, Lines)
        watcher.begin("Task")
        watcher.finish("Task")
    assert "\x1b" not in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def test_a_terminal_shows_bars(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal)
    with watching() as watcher:
        assert isinstance(watcher, Bars)
        watcher.begin("Ingesting", 40, "documents")
        watcher.advance("Ingesting", 30)
        watcher.say("a.pdf: The [file] is damaged.")
        watcher.begin("Starting")
        watcher.finish("Starting")
        watcher.finish("Ingesting")
    assert "40 of 40 documents" in terminal.getvalue()
    assert "a.pdf: The [file] is damaged." in terminal.getvalue()


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_p08_no_escape_codes_where_they_are_not_wanted(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, variable: tuple[str, str]
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv(*variable)
    with watching() as watcher:
        watcher.begin("Task")
        watcher.finish("Task")
    assert terminal.getvalue().startswith("Task ...\n")
    assert "\x1b" not in terminal.getvalue()
