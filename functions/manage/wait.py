"""Read-your-writes: waiting until the other store has caught up."""

import time

from sqlalchemy import Engine

from shared.model import Document, IndexingStatus
from shared.postgres.documents import find_document
from shared.postgres.engine import read

_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5


def wait_for(engine: Engine, document: Document, end: float) -> Document:
    """Returns the document as it is once it is settled, or at `end` on the monotonic clock."""
    pause = _PAUSE_SECONDS
    while True:
        with read(engine) as connection:
            now = find_document(connection, document.tenant_id, document.id) or document
        settled = is_settled(now, document.version) or is_failed(now, document.version)
        if settled or time.monotonic() + pause > end:
            return now
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)


def is_settled(document: Document, version: int) -> bool:
    """Tells whether queries find this version of a document or a newer one; or it is gone."""
    if document.deleted_at is not None:
        return document.live_version is None
    return document.live_version is not None and document.live_version >= version


def is_failed(document: Document, version: int) -> bool:
    """Tells whether this version ended in error."""
    return document.version == version and document.indexing_status is IndexingStatus.ERROR
