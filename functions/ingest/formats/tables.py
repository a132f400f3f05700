"""Tables of data: each row is a paragraph that says its columns' names, so that it stands alone."""

import re
from collections.abc import Iterable, Sequence

from functions.ingest.formats.draft import Draft

_BLANK_LINES = re.compile(r"\s*\n\s*")
_BETWEEN_CELLS = " | "


def join_cells(cells: Iterable[str]) -> str:
    """Returns a row of a table that is part of a text, as one line; blank if all of it is."""
    lines = [" ".join(cell.split()) for cell in cells]
    return _BETWEEN_CELLS.join(lines) if any(lines) else ""


def write_table(draft: Draft, rows: Iterable[Sequence[str]]) -> None:
    """Adds the rows of a table, cells in the order of its columns, blank ones as "".

    The first row with two cells or more names the columns; what is before it are titles. A table of
    one column has no names. Nothing that a cell holds is left out, and no type is read into it.
    """
    names: Sequence[str] | None = None
    for row in rows:
        cells = [_BLANK_LINES.sub("\n", cell.strip()) for cell in row]
        filled = sum(bool(cell) for cell in cells)
        if names is not None:
            draft.add_paragraph(_write_row(names, cells))
        elif filled:
            draft.add_paragraph(_BETWEEN_CELLS.join(filter(None, cells)))
            names = cells if filled > 1 else None


def _write_row(names: Sequence[str], cells: Sequence[str]) -> str:
    named = zip(names, cells, strict=False)
    lines = [f"{name}: {cell}" if name else cell for name, cell in named if cell]
    return "\n".join([*lines, *filter(None, cells[len(names) :])])
