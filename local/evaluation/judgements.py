r"""Relevance judgements: query id, document id, grade, further columns ignored.

Between columns stand tabs, or blanks where a line has no tab. A heading is skipped. TREC's four
columns, with 0 or Q0 in the second, are recognised when every line has them.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from local.evaluation.trouble import CollectionUnusable

type Grades = Mapping[str, Mapping[str, int]]
"""Query id → document id → grade."""

LEAST_COLUMNS, TREC_COLUMNS = 3, 4
_TREC_SECOND = {"0", "Q0"}


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    columns: list[str]

    @property
    def is_trec(self) -> bool:
        return len(self.columns) == TREC_COLUMNS and self.columns[1] in _TREC_SECOND


def read_judgements(
    name: str, numbered: Sequence[tuple[int, str]], document_ids: Container[str]
) -> Grades:
    """Returns the grades that a file holds.

    Args:
        name: of the file, for errors.
        numbered: its lines, none of them blank, each with its number.
        document_ids: those there are; one that is called 0 is no sign of TREC.

    Raises:
        CollectionUnusable: naming the line, or both lines of two grades for one pair.
    """
    lines = [
        _Line(number, line.split("\t") if "\t" in line else line.split())
        for number, line in numbered
    ]
    if lines and _is_heading(lines[0], document_ids):
        lines = lines[1:]
    trec = [line for line in lines if line.is_trec]
    if trec and len(trec) < len(lines) and trec[0].columns[1] not in document_ids:
        raise CollectionUnusable(
            f"{name}, line {trec[0].number}: four columns as of TREC, but not all lines have them"
        )
    is_trec = len(trec) == len(lines)
    grades: dict[str, dict[str, int]] = {}
    seen: dict[tuple[str, str], int] = {}
    for line in lines:
        query, document, grade = _read(name, line, is_trec=is_trec)
        earlier = seen.setdefault((query, document), line.number)
        if grades.setdefault(query, {}).setdefault(document, grade) != grade:
            raise CollectionUnusable(
                f"{name}, lines {earlier} and {line.number}: "
                f"two grades for query {query!r} and document {document!r}"
            )
    return grades


def _is_heading(line: _Line, document_ids: Container[str]) -> bool:
    """Tells whether a first line names columns: words where the others have a grade."""
    words = [column for column in line.columns[2:] if re.search(r"\d", column) is None]
    return len(words) == len(line.columns) - 2 > 0 and line.columns[1] not in document_ids


def _read(name: str, line: _Line, *, is_trec: bool) -> tuple[str, str, int]:
    query, *rest = (column.strip() for column in line.columns)
    document, grade = rest[1:3] if is_trec else (*rest, "", "")[:2]
    if len(line.columns) < LEAST_COLUMNS or not query or not document or not _is_grade(grade):
        raise CollectionUnusable(
            f"{name}, line {line.number}: not query id, document id and a whole number"
        )
    return query, document, int(grade)


def _is_grade(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()
