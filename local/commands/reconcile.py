"""`winnow reconcile`: how far both stores agree, and the repair of what they differ over."""

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from functions.reconcile.pipeline import reconcile as run
from functions.reconcile.report import Report, Tally
from local.bars import watching
from local.stores import make_parts, open_stores
from local.tables import make_table
from local.terminal import clean, open_console, tell, write_json
from shared.postgres.datasets import name_datasets
from shared.postgres.engine import read

COLUMNS = {
    "documents": "documents",
    "chunks": "chunks",
    "indexed chunks": "indexed",
    "missing": "missing",
    "orphaned": "orphaned",
    "outdated": "outdated",
    "stuck": "stuck",
    "waiting": "waiting",
}


def reconcile(folder: Path | None, *, dry_run: bool, as_json: bool) -> bool:
    """Compares the stores, and repairs unless it is a dry run; shows what it found.

    Args:
        folder: the home.
        dry_run: only counts, and writes nothing.
        as_json: the report goes to standard output as JSON.

    Returns:
        Whether the stores agree now.
    """
    with watching() as watcher, open_stores(folder, watcher) as stores:
        with read(stores.engine) as connection:
            names = name_datasets(connection)
        task = "Comparing the stores"
        watcher.begin(task)
        report, _ = run(make_parts(stores), repairs=not dry_run)
        watcher.finish(task)
    for dataset_id in names:
        report.datasets.setdefault(dataset_id, Tally())
    if as_json:
        write_json(describe(report, names))
    else:
        open_console(sys.stdout).print(make_report_table(report, names))
    tell(summarize(report, dry_run=dry_run))
    for name in report.leftovers:
        tell(f"The index {name} is not live: a reindex builds it, or was not finished.")
    total = report.sum()
    return not (total.differing if dry_run else total.left)


def describe(report: Report, names: Mapping[str, str]) -> dict[str, object]:
    """Returns the report for programs."""
    return asdict(report) | {
        "datasets": [
            {"id": dataset_id, "name": names.get(dataset_id)} | asdict(tally)
            for dataset_id, tally in _sort(report, names)
        ]
    }


def make_report_table(report: Report, names: Mapping[str, str]) -> Table:
    """Returns one row a dataset."""
    table = make_table("dataset", *COLUMNS, "oldest", figures=[*COLUMNS, "oldest"])
    for dataset_id, tally in _sort(report, names):
        figures = [str(getattr(tally, each)) for each in COLUMNS.values()]
        name = names.get(dataset_id, f"{dataset_id} (unknown)")
        table.add_row(Text(clean(name)), *figures, write_age(tally.oldest_seconds))
    return table


def summarize(report: Report, *, dry_run: bool) -> str:
    """Returns the result for people."""
    total = report.sum()
    told = f" Ingest was told again of {report.resent} changes." if report.resent else ""
    if not total.differing:
        return f"Both stores agree over {total.chunks} chunks.{told}"
    if dry_run:
        return f"The stores differ in {total.differing} places. Nothing was changed."
    if total.left:
        return f"{total.differing} differences; {total.left} could not be repaired now.{told}"
    return f"{total.differing} differences, all of them repaired.{told}"


def write_age(seconds: float) -> str:
    """Returns an age in its largest whole unit; nothing for none."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return ""


def _sort(report: Report, names: Mapping[str, str]) -> list[tuple[str, Tally]]:
    def place(item: tuple[str, Tally]) -> tuple[bool, str, str]:
        return item[0] not in names, names.get(item[0], ""), item[0]

    return sorted(report.datasets.items(), key=place)
