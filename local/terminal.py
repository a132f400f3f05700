"""Where words go: data to standard output, progress and messages to standard error."""

import json
import os
import re
import sys
from typing import Any, TextIO

from rich.console import Console

_UNLIMITED = 1_000_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def open_console(stream: TextIO, width_of_pipe: int = _UNLIMITED) -> Console:
    """Returns a console that obeys COLUMNS and NO_COLOR.

    Without a terminal nothing is coloured, and lines are as long as they need to be unless COLUMNS
    or `width_of_pipe` says otherwise.
    """
    on_terminal = stream.isatty()
    width = None if on_terminal else _read_columns() or width_of_pipe
    return Console(
        file=stream,
        width=width,
        force_terminal=on_terminal,
        color_system="auto" if on_terminal and not os.environ.get("NO_COLOR") else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def is_animated(stream: TextIO) -> bool:
    """Tells whether the stream shows a bar that moves: a terminal that may be coloured."""
    dumb = os.environ.get("TERM", "") in {"", "dumb", "unknown"}
    return stream.isatty() and not dumb and not os.environ.get("NO_COLOR")


def write_json(value: Any) -> None:
    """Writes data for programs to standard output."""
    write_data(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def write_data(written: bytes) -> None:
    """Writes JSON to standard output as it is: UTF-8, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(written + b"\n")


def tell(line: str) -> None:
    """Writes a message for people."""
    print(line, file=sys.stderr, flush=True)


def clean(text: str) -> str:
    """Returns text on one line, without characters that would steer a terminal."""
    return _CONTROL.sub("\ufffd", " ".join(text.split()))


def shorten(text: str, most: int) -> str:
    """Returns the beginning of a text on one line, at most so many characters."""
    line = clean(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _read_columns() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) > 0 else None
