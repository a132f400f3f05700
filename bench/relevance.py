"""The figures of `winnow eval` as docs/relevance.md shows them: tables and a plot.

    python -m bench.relevance docs/relevance.json

The file is what `winnow eval DIR... --json` wrote.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.evaluation.measures import NAMES
from local.evaluation.report import show_difference

type Report = Mapping[str, Any]

PAGE = Path(__file__).parents[1] / "docs" / "relevance.md"
PLOT = PAGE.with_suffix(".svg")
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"

LEFT, TOP, WIDTH, ROW, GAP = 120, 50, 150, 18, 14
"""Pixels: of the names, the headings, one collection, one method, and between collections."""

RANGE = (-0.14, 0.05)
TICKS = (-0.10, -0.05, 0.0)
COLOURS = {"dify": "#b07aa1", "bm25": "#4e79a7"}
INK, FAINT, OTHERS = "#333333", "#dddddd", "#e15759"


def main() -> None:
    reports = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + write_tables(reports) + END + after, encoding="utf-8")
    PLOT.write_text(write_plot(reports), encoding="utf-8")


def write_tables(reports: Sequence[Report]) -> str:
    """Returns one table a collection, in Markdown."""
    return "\n".join(f"{_write_table(each)}\n" for each in reports)


def _write_table(report: Report) -> str:
    heading = f"### {report['collection']}"
    counts = f"{report['documents']:,} documents, {report['queries']:,} queries, "
    columns = ["method", *NAMES, "above the default, with its interval"]
    lines = [
        heading,
        "",
        f"{counts}`{report['embedding']}`.",
        "",
        "| " + " | ".join(columns) + " |",
    ]
    lines.append("|---|" + "---|" * len(NAMES) + "---|")
    for each in report["methods"]:
        few = f" ({each['queries']} queries)" if each["queries"] < report["queries"] else ""
        cells = [f"{each['method']}{few}", *(f"{each[name]:.4f}" for name in NAMES)]
        lines.append("| " + " | ".join([*cells, show_difference(each["above_default"])]) + " |")
    return "\n".join(lines)


def write_plot(reports: Sequence[Report]) -> str:
    """Returns an SVG: a dot and its interval for each method, a panel for each collection."""
    methods = [each["method"] for each in reports[0]["methods"] if each["above_default"]]
    width = LEFT + len(reports) * (WIDTH + GAP)
    height = TOP + len(methods) * ROW + 40
    shapes = [
        _text(LEFT - 10, TOP + (row + 0.7) * ROW, name, "end") for row, name in enumerate(methods)
    ]
    for place, report in enumerate(reports):
        shapes += _draw_panel(LEFT + place * (WIDTH + GAP), report, methods)
    middle = LEFT + len(reports) * (WIDTH + GAP) / 2
    shapes.append(_text(middle, height - 6, f"{NAMES[0]} above (right) or below the default"))
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n{body}\n</svg>\n'
    )


def _draw_panel(left: float, report: Report, methods: Sequence[str]) -> Iterator[str]:
    bottom = TOP + len(methods) * ROW
    yield _text(left + WIDTH / 2, TOP - 28, report["collection"])
    default = report["methods"][0][NAMES[0]]
    yield _text(left + WIDTH / 2, TOP - 12, f"default {default:.4f}")
    for tick in TICKS:
        x = left + _scale(tick)
        yield _line(x, TOP, x, bottom, INK if tick == 0 else FAINT)
        yield _text(x, bottom + 14, f"{tick:+.2f}" if tick else "0")
    for each in report["methods"]:
        if each["method"] in methods:
            yield from _draw_interval(left, TOP + (methods.index(each["method"]) + 0.5) * ROW, each)


def _draw_interval(left: float, y: float, measured: Report) -> Iterator[str]:
    figures = measured["above_default"][NAMES[0]]
    low, mean, high = (left + _scale(figures[key]) for key in ("low", "mean", "high"))
    colour = COLOURS.get(measured["method"].partition("-")[0], OTHERS)
    yield _line(low, y, high, y, colour, 2)
    yield f'<circle cx="{mean:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _scale(difference: float) -> float:
    held = min(max(difference, RANGE[0]), RANGE[1])
    return (held - RANGE[0]) / (RANGE[1] - RANGE[0]) * WIDTH


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    main()
