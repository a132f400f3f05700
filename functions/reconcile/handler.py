"""Lambda entry and composition root of reconcile: one call as far as its time goes, on a schedule.

A run that does not fit into one call goes on in the next: PostgreSQL keeps the place.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import Place, reconcile
from functions.reconcile.report import Report
from shared.clients import connect_database, connect_search
from shared.errors import ConfigurationError
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.start import check_engine
from shared.postgres.engine import read, transaction
from shared.postgres.places import keep_place, read_place
from shared.queue.sqs import SqsQueue
from shared.settings import read_settings
from shared.telemetry import logger, metrics

_LEFT_MILLISECONDS = 60_000
"""No page is begun with less time than this: each may have as many chunks to write as it holds."""


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> Mapping[str, Any]:
    """Compares the stores and repairs; {"dry_run": true} only counts, from the beginning.

    Returns:
        The report: `complete`, `resent`, `leftovers` and the counts of each dataset.
    """
    parts = build_parts()
    repairs = not event.get("dry_run", False)

    def has_time() -> bool:
        return context.get_remaining_time_in_millis() > _LEFT_MILLISECONDS

    kept = _read_place(parts) if repairs else None
    report, place = reconcile(parts, repairs=repairs, place=kept, has_time=has_time)
    if repairs:
        if place != kept:
            _keep_place(parts, place)
        _measure(report)
    logger.info("compared the stores", **asdict(report.sum()), resent=report.resent)
    return asdict(report)


COUNTED = {
    "Chunks": "chunks",
    "IndexedChunks": "indexed",
    "MissingChunks": "missing",
    "OrphanedChunks": "orphaned",
    "OutdatedChunks": "outdated",
    "StuckDocuments": "stuck",
    "LeftDifferences": "left",
    "WaitingDocuments": "waiting",
}
"""Metrics, and the counts of a `Tally` that they are."""


@cache
def build_parts() -> Parts:
    """Builds the clients once a process, at the first event."""
    settings = read_settings()
    search = connect_search(settings)
    check_engine(search, settings.index_prefix)
    if settings.queue_url is None:
        raise ConfigurationError("WINNOW_QUEUE_URL is not set")
    return Parts(
        engine=connect_database(settings),
        index=OpenSearchChunkIndex(
            search,
            settings.index_prefix,
            shards=settings.index_shards,
            replicas=settings.index_replicas,
        ),
        builder=OpenSearchIndexBuilder(search, settings.index_prefix),
        queue=SqsQueue(settings.queue_url, timeout=settings.queue_timeout_seconds),
    )


def _read_place(parts: Parts) -> Place | None:
    with read(parts.engine) as connection:
        written = read_place(connection)
    return None if written is None else Place.read(written)


def _keep_place(parts: Parts, place: Place | None) -> None:
    with transaction(parts.engine) as connection:
        keep_place(connection, None if place is None else place.write())


def _measure(report: Report) -> None:
    total = report.sum()
    for name, count in COUNTED.items():
        metrics.add_metric(name, MetricUnit.Count, getattr(total, count))
    metrics.add_metric("ResentChanges", MetricUnit.Count, report.resent)
    metrics.add_metric("OldestWorkAge", MetricUnit.Seconds, total.oldest_seconds)
    metrics.flush_metrics()
