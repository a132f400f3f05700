"""Splits a text wherever a delimiter stands."""

import re
from collections.abc import Iterator

from shared.model import Span


def split_at(text: str, start: int, delimiter: str | None) -> Iterator[Span]:
    """Yields the parts of a text from `start` on; together they are all of it.

    A delimiter belongs to the part that it ends, as a full stop does to its sentence; so do more
    delimiters right after it. Those before any words belong to the first part.
    """
    part: Span | None = None
    done = start
    marks = re.compile(re.escape(delimiter)).finditer(text, start) if delimiter else ()
    for mark in marks:
        begin, end = mark.span()
        if text[done:begin].strip():
            if part is not None:
                yield part
            part = Span(part.end if part else start, end)
        elif part is not None:
            part = Span(part.start, end)
        done = end
    if part is None:
        yield Span(start, len(text))
    elif text[done:].strip():
        yield part
        yield Span(part.end, len(text))
    else:
        yield Span(part.start, len(text))
