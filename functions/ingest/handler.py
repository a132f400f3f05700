"""Lambda entry and composition root of ingest: SQS records in, failed ones back alone."""

import time
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.ingest.events import ObjectChange, parse_record
from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts
from functions.ingest.pipeline import work_on
from functions.ingest.reader import FileReader
from functions.ingest.sources import take_object
from functions.ingest.together import Work, run_together
from shared.clients import connect_database, connect_search
from shared.content.objects import S3ObjectReader
from shared.content.open import open_content_store
from shared.errors import ChangeMalformed, Unavailable, WinnowError
from shared.model import Change
from shared.models.embedders import make_embedder
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.start import check_engine
from shared.settings import read_settings
from shared.telemetry import log_failure, logger

_BEGIN_WITHIN_SECONDS = 120.0
"""Records that a call has not begun by then go back, so that a slow one takes none down with it."""


def lambda_handler(event: Mapping[str, Any], _context: LambdaContext) -> Mapping[str, Any]:
    """Ingests the records of one batch; those that failed come back in batchItemFailures.

    A batch in which every record is poison is handled, not an error of the function. An event that
    is no batch is one: what is wired to the function itself must not get lost without a word.

    Raises:
        ChangeMalformed: the event has no records.
    """
    records = event.get("Records")
    if not isinstance(records, list):
        raise ChangeMalformed("the event is no batch of messages of a queue")
    begun = time.monotonic()
    ends = run_together([_take(record, begun) for record in records])
    failed = []
    for record, error in zip(records, ends, strict=True):
        if error is not None:
            log_failure("a record failed", error, message_id=record["messageId"])
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}


@cache
def build_parts() -> Parts:
    """Builds the clients once a process, at the first event."""
    settings = read_settings()
    search = connect_search(settings)
    check_engine(search, settings.index_prefix)
    return Parts(
        engine=connect_database(settings),
        index=OpenSearchChunkIndex(
            search,
            settings.index_prefix,
            shards=settings.index_shards,
            replicas=settings.index_replicas,
        ),
        content=open_content_store(settings.content_url, timeout=settings.content_timeout_seconds),
        embedder_for=lambda space: make_embedder(space, settings),
        objects=S3ObjectReader(timeout=settings.content_timeout_seconds),
        reader=FileReader(
            Options(
                most_expanded=settings.document_max_expanded_bytes,
                include_hidden=settings.include_hidden,
            )
        ),
        max_bytes=settings.document_max_bytes,
    )


def _take(record: Mapping[str, Any], begun: float) -> Work[None]:
    if time.monotonic() - begun > _BEGIN_WITHIN_SECONDS:
        raise Unavailable("too little time is left of this call")
    parts = build_parts()
    is_first = record.get("attributes", {}).get("ApproximateReceiveCount") == "1"
    failed: WinnowError | None = None
    for asked in parse_record(record["body"]):
        try:
            yield from _take_one(asked, parts, is_first)
        except WinnowError as error:  # what else the message asks for is done all the same
            failed = failed or error
    if failed is not None:
        raise failed


def _take_one(asked: Change | ObjectChange, parts: Parts, is_first: bool) -> Work[None]:
    change = _save(asked, parts, is_first) if isinstance(asked, ObjectChange) else asked
    if change is not None:
        yield from _name(change, work_on(change, parts, is_first=is_first))


def _name(change: Change, work: Work[None]) -> Work[None]:
    """Has what a work logs name its document, for as long as it is its turn."""
    step = partial(next, work)
    while True:
        with logger.append_context_keys(document_id=change.document_id, version=change.version):
            try:
                written = step()
            except StopIteration:
                return
        try:
            yield written
        except Exception as error:  # noqa: BLE001, whatever it is, it is the work's to handle
            step = partial(work.throw, error)
        else:
            step = partial(next, work)


def _save(event: ObjectChange, parts: Parts, is_first: bool) -> Change | None:
    return take_object(
        event, parts.engine, parts.objects, parts.content, parts.max_bytes, is_first=is_first
    )
