import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from local.loop import MOST_TOGETHER, IngestLoop
from shared.errors import DatabaseUnavailable
from shared.model import Action, Change
from shared.queue.local import LocalQueue
from shared.queue.messages import read_change

PATIENCE = 20.0
FINE: Mapping[str, Any] = {"batchItemFailures": []}


def change() -> Change:
    tenant, dataset, document = (str(uuid.uuid4()) for _ in range(3))
    return Change(tenant, dataset, document, 1, Action.PROCESS)


class Outbox:
    """Work that waits, and what a handler did with it."""

    def __init__(self, *waiting: Change) -> None:
        self.waiting = list(waiting)
        self.handled: list[Change] = []
        self.empty = threading.Event()
        self.lock = threading.Lock()

    def find(self, most: int, _dropped: Sequence[str] = ()) -> Sequence[Change]:
        with self.lock:
            return self.waiting[:most]

    def handle(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        with self.lock:
            for record in event["Records"]:
                done = read_change(record["body"])
                self.handled.append(done)
                self.waiting.remove(done)
            if not self.waiting:
                self.empty.set()
        return FINE


def run(
    find: Callable[[int, Sequence[str]], Sequence[Change]],
    handle: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    until: threading.Event,
    workers: int = 3,
) -> bool:
    loop = IngestLoop(find, handle, LocalQueue(), workers)
    loop.start()
    assert until.wait(PATIENCE)
    return loop.stop()


def test_all_work_is_handed_out_as_sqs_events() -> None:
    work = [change() for _ in range(200)]
    outbox = Outbox(*work)
    assert run(outbox.find, outbox.handle, outbox.empty)
    assert sorted(c.document_id for c in outbox.handled) == sorted(c.document_id for c in work)


def test_much_work_comes_in_events_of_a_few() -> None:
    sizes: list[int] = []
    outbox = Outbox(*(change() for _ in range(64)))

    def handle(event: Mapping[str, Any]) -> Mapping[str, Any]:
        sizes.append(len(event["Records"]))
        return outbox.handle(event)

    run(outbox.find, handle, outbox.empty, workers=2)
    assert max(sizes) == MOST_TOGETHER


def test_events_are_read_by_the_batch_processor() -> None:
    seen: list[Mapping[str, Any]] = []
    outbox = Outbox(change())

    def handle(event: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(event)
        return outbox.handle(event)

    run(outbox.find, handle, outbox.empty)
    record = seen[0]["Records"][0]
    assert record["eventSource"] == "aws:sqs"
    assert json.loads(record["body"])["document_id"] == record["messageId"]


def test_a_document_at_work_is_not_handed_out_again() -> None:
    only = change()
    seen: list[int] = []
    looked_again, at_work = threading.Event(), threading.Semaphore(0)
    rounds = 0

    def find(_most: int, _dropped: Sequence[str]) -> list[Change]:
        nonlocal rounds
        rounds += 1
        if rounds > 3:
            looked_again.set()
        return [only]

    def handle(_event: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(1)
        at_work.acquire()
        return FINE

    loop = IngestLoop(find, handle, LocalQueue())
    loop.start()
    assert looked_again.wait(PATIENCE)
    assert seen == [1]
    at_work.release(1000)
    assert loop.stop()


def test_it_outlives_the_database_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    outbox = Outbox(change())
    failures = iter([DatabaseUnavailable(), DatabaseUnavailable()])

    def find(most: int, _dropped: Sequence[str]) -> Sequence[Change]:
        for failure in failures:
            raise failure
        return outbox.find(most)

    assert run(find, outbox.handle, outbox.empty)
    assert capsys.readouterr().err.splitlines() == [
        "Ingest waits: The database does not answer.",
        "Ingest goes on.",
    ]


def test_it_outlives_whatever_the_outbox_raises(capsys: pytest.CaptureFixture[str]) -> None:
    outbox = Outbox(change())
    failures = iter([ZeroDivisionError("of secrets"), ZeroDivisionError("of secrets")])

    def find(most: int, _dropped: Sequence[str]) -> Sequence[Change]:
        for failure in failures:
            raise failure
        return outbox.find(most)

    assert run(find, outbox.handle, outbox.empty)
    assert capsys.readouterr().err.splitlines() == [
        "Ingest waits: an unexpected error; the log tells more.",
        "Ingest goes on.",
    ]


@pytest.mark.parametrize("breaks", [True, False])
def test_it_outlives_a_handler_that_fails(breaks: bool, capsys: pytest.CaptureFixture[str]) -> None:
    poison, good = change(), change()
    outbox = Outbox(poison, good)

    def handle(event: Mapping[str, Any]) -> Mapping[str, Any]:
        outbox.handle(event)
        if poison.document_id not in event["Records"][0]["body"]:
            return FINE
        if breaks:
            raise ZeroDivisionError
        return {"batchItemFailures": [{"itemIdentifier": poison.document_id}]}

    assert run(outbox.find, handle, outbox.empty, workers=1)
    assert outbox.handled == [poison, good]
    assert capsys.readouterr().err.count(f"Ingest of document {poison.document_id} failed") == 1


def test_of_work_whose_worker_failed_the_outbox_is_told_once_it_can_be_read() -> None:
    work = change()
    waiting, failures = [work], [DatabaseUnavailable()]
    told: list[str] = []
    looked_again = threading.Event()

    def find(_most: int, dropped: Sequence[str]) -> Sequence[Change]:
        if dropped and failures:
            raise failures.pop()
        if told:
            looked_again.set()
        told.extend(dropped)
        return [waiting.pop()] if waiting else []

    def handle(_event: Mapping[str, Any]) -> Mapping[str, Any]:
        raise DatabaseUnavailable

    assert run(find, handle, looked_again)
    assert told == [work.document_id]


def test_several_documents_are_ingested_at_once() -> None:
    outbox = Outbox(change(), change(), change())
    together = threading.Barrier(3, timeout=PATIENCE)

    def handle(event: Mapping[str, Any]) -> Mapping[str, Any]:
        together.wait()
        return outbox.handle(event)

    assert run(outbox.find, handle, outbox.empty, workers=3)
    assert not together.broken


def test_word_of_a_change_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.loop.POLL_SECONDS", 3600.0)
    outbox, queue, looked = Outbox(), LocalQueue(), threading.Event()

    def find(most: int, _dropped: Sequence[str]) -> Sequence[Change]:
        found = outbox.find(most)
        looked.set()
        return found

    loop = IngestLoop(find, outbox.handle, queue)
    loop.start()
    assert looked.wait(PATIENCE)
    late = change()
    outbox.waiting.append(late)
    queue.send([late])
    assert outbox.empty.wait(PATIENCE)
    monkeypatch.undo()
    queue.send([late])
    assert loop.stop()
