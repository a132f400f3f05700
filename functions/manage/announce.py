"""Telling ingest of what the outbox has; a message that is lost costs time alone."""

from collections.abc import Sequence

from shared.errors import Unavailable
from shared.model import Change
from shared.ports import ChangeQueue
from shared.telemetry import log_failure


def announce(queue: ChangeQueue, changes: Sequence[Change | None]) -> None:
    """Sends the changes there are; a queue that takes none fails no write."""
    try:
        queue.send([change for change in changes if change is not None])
    except Unavailable as error:  # the outbox has them
        log_failure("changes could not be announced", error)
