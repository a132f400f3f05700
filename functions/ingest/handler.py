"""Lambda entry and composition root of ingest: SQS records in, failed ones back alone."""

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.ingest.events import ObjectChange, parse_record
from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
from functions.ingest.sources import take_object
from shared.clients import connect_database, connect_search
from shared.content.objects import S3ObjectReader
from shared.content.open import open_content_store
from shared.errors import Unavailable, WinnowError
from shared.model import Change
from shared.models.embedders import make_embedder
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.start import check_engine
from shared.settings import read_settings
from shared.telemetry import log_failure, logger

_BEGIN_WITHIN_SECONDS = 120.0
"""Records that a call has not begun by then go back, so that a slow one takes none down with it."""


class _Processor(BatchProcessor):
    """Says in the logs why a record failed."""

    def failure_handler(self, record: Any, exception: Any) -> Any:
        """Keeps the record for batchItemFailures."""
        log_failure("a record failed", exception[1], message_id=record.message_id)
        return super().failure_handler(record, exception)


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> Mapping[str, Any]:
    """Ingests each record; those that failed come back in batchItemFailures."""
    if event.get("Records") == []:  # which the processor takes for no batch at all
        return {"batchItemFailures": []}
    begun = time.monotonic()

    def take(record: SQSRecord) -> None:
        if time.monotonic() - begun > _BEGIN_WITHIN_SECONDS:
            raise Unavailable("too little time is left of this call")
        _take(record)

    # One a call, as it holds the batch: threads of one process may ingest at once. And a batch in
    # which every record is poison is handled, not an error of the function.
    processor = _Processor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(
        event=dict(event), record_handler=take, processor=processor, context=context
    )


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


def _take(record: SQSRecord) -> None:
    parts = build_parts()
    is_first = record.raw_event.get("attributes", {}).get("ApproximateReceiveCount") == "1"
    failed: WinnowError | None = None
    for asked in parse_record(record.body):
        try:
            _take_one(asked, parts, is_first)
        except WinnowError as error:  # what else the message asks for is done all the same
            failed = failed or error
    if failed is not None:
        raise failed


def _take_one(asked: Change | ObjectChange, parts: Parts, is_first: bool) -> None:
    change = _save(asked, parts, is_first) if isinstance(asked, ObjectChange) else asked
    if change is not None:
        with logger.append_context_keys(document_id=change.document_id, version=change.version):
            ingest(change, parts, is_first=is_first)


def _save(event: ObjectChange, parts: Parts, is_first: bool) -> Change | None:
    return take_object(
        event, parts.engine, parts.objects, parts.content, parts.max_bytes, is_first=is_first
    )
