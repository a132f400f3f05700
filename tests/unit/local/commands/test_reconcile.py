import re

import pytest
from rich.console import Console

from functions.reconcile.report import Report, Tally
from local.commands.reconcile import describe, make_report_table, summarize, write_age

NAMES = {"1": "books", "2": "[b]articles"}


def make_report(**more: int) -> Report:
    report = Report(complete=True)
    report.datasets["1"] = Tally(documents=2, chunks=30, indexed=29, oldest_seconds=200)
    report.datasets["2"] = Tally(chunks=5, indexed=5)
    report.datasets["3"] = Tally(indexed=1, orphaned=1)
    for name, count in more.items():
        setattr(report.datasets["1"], name, count)
    return report


def test_a_row_is_a_dataset_and_those_that_nobody_knows_come_last() -> None:
    console = Console(width=200, markup=False)
    with console.capture() as capture:
        console.print(make_report_table(make_report(missing=1), NAMES))
    heading, _, *rows = [re.split("[│┃]", line) for line in capture.get().splitlines()]
    assert [each.strip() for each in heading] == [
        "dataset", "documents", "chunks", "indexed chunks", "missing", "orphaned", "outdated",
        "stuck", "waiting", "oldest",
    ]  # fmt: skip
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["[b]articles", "0", "5", "5", "0", "0", "0", "0", "0", ""],
        ["books", "2", "30", "29", "1", "0", "0", "0", "0", "3 min"],
        ["3 (unknown)", "0", "0", "1", "0", "1", "0", "0", "0", ""],
    ]


def test_programs_get_ids_names_and_every_count() -> None:
    told = describe(make_report(missing=1), NAMES)
    assert told | {"datasets": None} == {
        "datasets": None, "resent": 0, "leftovers": [], "complete": True,
    }  # fmt: skip
    datasets = told["datasets"]
    assert isinstance(datasets, list)
    assert [each["name"] for each in datasets] == ["[b]articles", "books", None]
    assert datasets[1] == {
        "id": "1", "name": "books", "documents": 2, "chunks": 30, "indexed": 29, "missing": 1,
        "orphaned": 0, "outdated": 0, "stuck": 0, "left": 0, "waiting": 0, "oldest_seconds": 200,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "dry_run", "said"),
    [
        ({}, True, "The stores differ in 1 places. Nothing was changed."),
        ({"missing": 3, "stuck": 1}, False, "5 differences, all of them repaired."),
        ({"missing": 3, "left": 2}, False, "4 differences; 2 could not be repaired now."),
    ],
)
def test_people_are_told_the_sum(found: dict[str, int], dry_run: bool, said: str) -> None:
    assert summarize(make_report(**found), dry_run=dry_run) == said


def test_people_are_told_that_all_is_well_and_what_ingest_was_told() -> None:
    report = Report(resent=4)
    report.datasets["1"].chunks = 7
    said = "Both stores agree over 7 chunks. Ingest was told again of 4 changes."
    assert summarize(report, dry_run=False) == said


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, ""), (0.4, ""), (1, "1 s"), (59, "59 s"), (200, "3 min"), (7200, "2 h"), (1e6, "12 d")],
)
def test_an_age_is_written_in_one_unit(seconds: float, written: str) -> None:
    assert write_age(seconds) == written
