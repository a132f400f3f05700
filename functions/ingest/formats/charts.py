"""Charts: their titles, and what they draw as a table, as it was saved with them."""

from collections.abc import Mapping

from lxml.etree import _Element as Element
from pptx.oxml.ns import qn

from functions.ingest.formats.draft import Draft
from functions.ingest.formats.drawn import read_paragraphs
from functions.ingest.formats.tables import join_cells

_SERIES, _NAME, _TITLE = qn("c:ser"), qn("c:tx"), qn("c:title")
_POINT, _VALUE = qn("c:pt"), qn("c:v")
_ACROSS, _UP = (qn("c:cat"), qn("c:xVal")), (qn("c:val"), qn("c:yVal"))


def write_chart(draft: Draft, chart: Element) -> None:
    """Adds a chart: a column for each of its series, a row for each category."""
    for title in chart.iter(_TITLE):
        draft.add_paragraph(read_paragraphs(title))
    series = list(chart.iter(_SERIES))
    columns = [_read_points(each, _ACROSS) for each in series[:1]]
    columns += [_read_points(each, _UP) for each in series]
    names = [" ".join(_read_points(each, (_NAME,)).values()) for each in series]
    draft.add_paragraph(join_cells(["", *names]))
    for index in sorted(set().union(*columns)):
        draft.add_line(join_cells(column.get(index, "") for column in columns))


def _read_points(series: Element, tags: tuple[str, ...]) -> Mapping[int, str]:
    found = (child for child in series if child.tag in tags)
    points = (point for child in found for point in child.iter(_POINT))
    return {int(point.get("idx", 0)): point.findtext(_VALUE) or "" for point in points}
