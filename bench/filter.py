"""A filter over a million documents against the bare statements and searches that it needs.

    uv run python -m bench.filter [--documents 1000000] [--datasets 1] [--rounds 15] [--home DIR]

Prints medians of one run in which both sides took turns, and their ratios. A home that is named is
kept, and its documents are used again. `--plans` prints how PostgreSQL came to each answer.
"""

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, event, func, select

from bench.allowlists import measure_memory, measure_searches
from bench.million import broad, build, make_query, selective
from bench.world import Sender, make_dataset, running, serving, take_turns
from functions.retrieve.prefilter import prefilter
from functions.retrieve.query import Query
from shared.clients import connect_database
from shared.model import Dataset
from shared.postgres.conditions import to_sql
from shared.postgres.datasets import list_datasets
from shared.postgres.engine import read
from shared.postgres.tables import documents, searchable
from shared.settings import DEFAULT_TENANT, Settings

LONG = 600.0
"""Seconds that a statement may take here."""


def main() -> None:
    """Builds the documents, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--datasets", type=int, default=1, help="over which they are dealt out")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--home", type=Path, default=None)
    parser.add_argument("--plans", action="store_true")
    asked = parser.parse_args()
    count, rounds = asked.documents, asked.rounds
    with running(asked.home, f"bench-filter-{count}-{asked.datasets}") as settings:
        engine = connect_database(settings, timeout=LONG)
        made = find_or_build(settings, engine, count, asked.datasets)
        measure_selective(engine, made, count, rounds * 20)
        measure_broad(engine, made, count, rounds)
        if asked.plans:
            explain(engine, made, count)
        measure_searches(settings, engine, made, count, rounds * 4)
        with serving() as service:
            measure_memory(service, made, count)


def find_or_build(
    settings: Settings, engine: Engine, count: int, dataset_count: int
) -> Sequence[Dataset]:
    """Returns the datasets that hold the documents."""
    names = [f"{count} documents, {n} of {dataset_count}" for n in range(dataset_count)]
    if not _find(engine, names):
        begun = time.monotonic()
        made = [make_dataset(engine, name) for name in names]
        build(engine, made, count, Sender(settings, engine))
        print(f"{count} documents in {time.monotonic() - begun:.0f} s")
    found = _find(engine, names)
    assert sum(dataset.searchable_count for dataset in found) == count
    return found


def _find(engine: Engine, names: Sequence[str]) -> Sequence[Dataset]:
    with read(engine) as connection:
        return [each for each in list_datasets(connection, DEFAULT_TENANT) if each.name in names]


def measure_selective(engine: Engine, made: Sequence[Dataset], count: int, rounds: int) -> None:
    """Prints what a prefilter takes that finds one document, and the bare look-up of it."""
    print("\n| one document, by the equality of | look-up, ms | prefilter, ms | ratio |")
    print("|---|---|---|---|")
    for name, where in selective(count).items():
        query = make_query(made, where)
        look_up = select(documents.c.seq).where(condition(query))
        print(f"| {name} | {compare(engine, query, look_up, rounds)} |", flush=True)


def measure_broad(engine: Engine, made: Sequence[Dataset], count: int, rounds: int) -> None:
    """Prints what a prefilter takes that half of the documents pass, and the bare count of them."""
    scope = [
        documents.c.dataset_id.in_([dataset.id for dataset in made]),
        documents.c.tenant_id == DEFAULT_TENANT,
        searchable,
    ]
    print("\n| filter | passed | count(*), ms | prefilter, ms | ratio |")
    print("|---|---|---|---|---|")
    for name, where in broad(count).items():
        query = make_query(made, where)
        matched = prefilter(query, engine, LONG).matched_documents
        counted = select(func.count()).where(*scope, condition(query))
        print(f"| {name} | {matched:,} | {compare(engine, query, counted, rounds)} |", flush=True)


def condition(query: Query) -> ColumnElement[bool]:
    """Returns a query's filter in SQL."""
    assert query.filter is not None
    return to_sql(query.filter, documents.c.filter_values)


def compare(engine: Engine, query: Query, bare: Select[Any], rounds: int) -> str:
    """Returns the medians of a bare statement and of the whole prefilter, and their ratio."""

    def ask_bare() -> None:
        with read(engine) as connection:
            connection.execute(bare).all()

    one, whole = take_turns([ask_bare, lambda: prefilter(query, engine, LONG)], rounds)
    return f"{one:.2f} | {whole:.2f} | {whole / one:.2f}"


def explain(engine: Engine, made: Sequence[Dataset], count: int) -> None:
    """Prints the plan of each filter's statement, as the prefilter sends it."""
    sent: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda *each: sent.append((each[2], each[3])))
    for name, where in {**selective(count), **broad(count)}.items():
        sent.clear()
        prefilter(make_query(made, where), engine, LONG)
        ((statement, parameters),) = sent
        with read(engine) as connection:
            analyzed = f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) {statement}"
            plan = connection.exec_driver_sql(analyzed, parameters).scalars().all()
        print(f"\n{name}: {where}\n\n{shorten('\n'.join(plan))}", flush=True)


def shorten(plan: str) -> str:
    """Returns a plan without the conditions that every one has."""
    plan = re.sub(r"\(live_version IS NOT NULL\).*?\(deleted_at IS NULL\)", "searchable", plan)
    plan = re.sub(r" AND \((dataset|tenant)_id = [^)]*\)", "", plan)
    return re.sub(r"(?m)(^.{200}).+$", r"\1 …", plan)


if __name__ == "__main__":
    main()
