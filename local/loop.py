"""The local stand-in for the queue's trigger: outbox rows go to the ingest function's own handler.

It polls, woken early by `LocalQueue`, and never dies: what failed stays in the outbox.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import batched
from typing import Any

from local.terminal import tell
from shared.errors import Unavailable
from shared.model import Change
from shared.queue.local import LocalQueue
from shared.queue.messages import write_change
from shared.telemetry import log_failure

POLL_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0
WORKERS = 4
"""Events at once: embedding fills the cores, and the stores answer meanwhile."""

MOST_TOGETHER = 10
"""Changes of one event, as on AWS."""

FOUND_AT_ONCE = 64
STOP_SECONDS = 10.0

type Handle = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes an SQS event, as `functions.ingest.handler.lambda_handler` does."""


class IngestLoop:
    """Feeds waiting changes to a handler, several at once, until it is stopped.

    Args:
        find: returns work that nobody is at, at most so many changes. It is told the documents
            whose workers failed since it last did: they may not have been able to say so.
        handle: takes one SQS event.
        queue: wakes the loop.
        workers: most events at once, each of a few changes.
    """

    def __init__(
        self,
        find: Callable[[int, Sequence[str]], Sequence[Change]],
        handle: Handle,
        queue: LocalQueue,
        workers: int = WORKERS,
    ) -> None:
        self._find = find
        self._handle = handle
        self._queue = queue
        self._most_workers = workers
        self._free = threading.Semaphore(workers)
        self._workers: dict[str, threading.Thread] = {}
        self._dropped: set[str] = set()
        self._failing = False  # one line an outage, not one a document
        self._stopped = threading.Event()
        self._feeder = threading.Thread(target=self._feed, name="ingest", daemon=True)

    def start(self) -> None:
        """Starts to look for work."""
        self._feeder.start()

    def stop(self) -> bool:
        """Takes no more work and waits for what is being done; False where that takes too long.

        Work that is cut short stays in the outbox.
        """
        self._stopped.set()
        end = time.monotonic() + STOP_SECONDS
        self._feeder.join(STOP_SECONDS)
        workers = list(self._workers.values())
        for worker in workers:
            worker.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in [self._feeder, *workers])

    def _feed(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            dropped = list(self._dropped)
            try:
                changes = self._find(FOUND_AT_ONCE, dropped)
            except Exception as error:  # noqa: BLE001, nobody would start this thread again
                failures += 1
                if failures == 1:
                    _report(error)
                self._stopped.wait(min(2.0**failures / 4, LONGEST_PAUSE_SECONDS))
                continue
            if failures:
                tell("Ingest goes on.")
                failures = 0
            self._dropped.difference_update(dropped)
            self._hand_out(changes)

    def _hand_out(self, changes: Sequence[Change]) -> None:
        waiting = [change for change in changes if change.document_id not in self._workers]
        if not waiting:
            self._queue.wait(POLL_SECONDS)
        # A share for everybody: those of one event wait for each other.
        share = min(MOST_TOGETHER, max(1, len(waiting) // self._most_workers))
        for batch in batched(waiting, share, strict=False):
            self._free.acquire()
            if self._stopped.is_set():
                return
            worker = threading.Thread(target=self._work, args=[batch], daemon=True)
            self._workers |= {change.document_id: worker for change in batch}
            worker.start()

    def _work(self, batch: Sequence[Change]) -> None:
        try:
            failures = self._handle(make_event(batch))["batchItemFailures"]
            failed = [each["itemIdentifier"] for each in failures]
        except Exception as error:  # noqa: BLE001, whatever it is, the outbox still has the work
            log_failure("the handler failed", error)
            failed = [change.document_id for change in batch]
        self._dropped.update(failed)
        for change in batch:
            del self._workers[change.document_id]
        self._free.release()
        if failed and not self._failing:
            tell(f"Ingest of document {failed[0]} failed: its status says why.")
        self._failing = bool(failed)


def _report(error: Exception) -> None:
    if isinstance(error, Unavailable):
        tell(f"Ingest waits: {error}")
        return
    tell("Ingest waits: an unexpected error; the log tells more.")
    log_failure("the outbox can't be read", error)


def make_event(changes: Sequence[Change]) -> dict[str, Any]:
    """Returns the SQS event that brings changes."""
    return {"Records": [_make_record(change) for change in changes]}


def _make_record(change: Change) -> dict[str, Any]:
    return {
        "messageId": change.document_id,
        "receiptHandle": "",
        "body": write_change(change),
        "attributes": {},
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:local:000000000000:winnow",
        "awsRegion": "local",
    }
