"""What an evaluation found, for programs and for people."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from local.datasets import Embedding
from local.evaluation.asking import Answers
from local.evaluation.collection import Collection
from local.evaluation.intervals import CONFIDENCE, compare
from local.evaluation.measures import NAMES, Figures
from local.evaluation.methods import DEFAULT
from local.tables import make_table
from local.terminal import open_console, tell

LATENCY = (
    "Milliseconds from request to answer over HTTP, one caller, one query after the other, "
    "the query's vector given."
)
INTERVAL = (
    f"Above the default: the difference in {NAMES[0]} over the same queries, and its "
    f"{CONFIDENCE:.0%} interval, a paired bootstrap."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one method achieved: each query's figures, and how it answered."""

    method: str
    figures: Figures
    answers: Answers


def describe(
    collection: Collection,
    embedding: Embedding,
    measured: Sequence[Measured],
    failed: Mapping[str, str],
) -> dict[str, Any]:
    """Returns the report for programs."""
    default = next((each.figures for each in measured if each.method == DEFAULT), None)
    return {
        "collection": collection.name,
        "embedding": str(embedding),
        "documents": len(collection.documents),
        "empty_documents": len(collection.empty),
        "queries": len(collection.queries),
        "unknown_judged_documents": collection.unknown_documents,
        "unknown_judged_queries": collection.unknown_queries,
        "failures": [{"id": id_, "reason": reason} for id_, reason in failed.items()],
        "methods": [_describe(each, default) for each in measured],
        "latency": LATENCY,
    }


def _describe(measured: Measured, default: Figures | None) -> dict[str, Any]:
    queries = len(measured.figures[NAMES[0]])
    above = None
    if default is not None and measured.method != DEFAULT:
        differences = {
            name: compare(figures, default[name][:queries])
            for name, figures in measured.figures.items()
        }
        above = {
            name: {key: round(value, 6) for key, value in each._asdict().items()}
            for name, each in differences.items()
        }
    return {
        "method": measured.method,
        "queries": queries,
        **{name: round(float(each.mean()), 6) for name, each in measured.figures.items()},
        "above_default": above,
        "answered": sum(bool(found) for found in measured.answers.run.values()),
        "p50_ms": round(measured.answers.p50, 2),
        "p95_ms": round(measured.answers.p95, 2),
    }


def show(report: Mapping[str, Any]) -> None:
    """Prints the report for people."""
    console = open_console(sys.stdout)
    counts = [
        f"{report['documents']:,} documents",
        f"{report['queries']:,} judged queries",
        report["embedding"],
    ]
    console.print(f"{report['collection']}: {', '.join(counts)}")
    remarks = {
        "empty documents were left out": report["empty_documents"],
        "judged documents are missing": report["unknown_judged_documents"],
        "judged queries are missing": report["unknown_judged_queries"],
        "documents could not be ingested": len(report["failures"]),
    }
    for words, count in remarks.items():
        if count:
            console.print(f"{count:,} {words}.")
    for each in report["failures"]:
        tell(f"{each['id']}: {each['reason']}")
    console.print()
    console.print(_make_table(report["methods"]))
    console.print()
    if any(each["above_default"] for each in report["methods"]):
        console.print(INTERVAL)
    console.print(LATENCY)


def _make_table(methods: Sequence[Mapping[str, Any]]) -> Table:
    times = {"p50 ms": "p50_ms", "p95 ms": "p95_ms"}
    figures = [*NAMES, "above the default", "queries", *times]
    table = make_table("method", *figures, figures=figures)
    for each in methods:
        table.add_row(
            each["method"],
            *(f"{each[name]:.4f}" for name in NAMES),
            show_difference(each["above_default"]),
            str(each["queries"]),
            *(f"{each[key]:.1f}" for key in times.values()),
        )
    return table


def show_difference(above: Mapping[str, Any] | None) -> str:
    """Returns the difference in the first measure and its interval, as text."""
    if above is None:
        return ""
    figures = above[NAMES[0]]
    return f"{figures['mean']:+.4f} [{figures['low']:+.4f}, {figures['high']:+.4f}]"
