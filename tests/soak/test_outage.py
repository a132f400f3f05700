"""Both stores go away and come back while documents come in: all by itself it is made good."""

import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import connect as connect_search
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.engine import connect, read
from tests.fakes.queue import FakeChangeQueue
from tests.soak.served import PATIENCE, PREFIX, Engines, Served
from tests.soak.sizes import choose

DOCUMENTS = choose(160, 1_000)
BATCH = 10  # which a quarter of them is a multiple of


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    folder = Path(tempfile.mkdtemp(prefix="winnow-outage-"))
    folder.chmod(0o755)  # as root, the engines run as another user
    with ExitStack() as running:
        running.callback(shutil.rmtree, folder, ignore_errors=True)
        engines = Engines(folder / "engines", running)
        yield Served(engines, folder / "service", running)


class Watching:
    """Asks all the while for a document that is there, and judges every answer."""

    def __init__(self, served: Served, dataset: str) -> None:
        self._served = served
        self._dataset = dataset
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seen: Counter[str] = Counter()
        self.wrong: list[Any] = []

    def __enter__(self) -> "Watching":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        body = {"query": "lasting", "dataset_ids": [self._dataset], "deadline_ms": 5_000}
        while not self._over.wait(0.05):
            status, answer = self._served.ask("POST", "/v1/retrieve", body)
            self.seen[self._judge(status, answer)] += 1

    def _judge(self, status: int, answer: Any) -> str:
        if status == 503:
            return "503"
        if status == 200 and answer["degraded"]:
            return "degraded"
        if status == 200 and [record["title"] for record in answer["records"]] == ["lasting"]:
            return "right"
        self.wrong.append((status, answer))
        return "wrong"


def make_dataset(served: Served, name: str) -> str:
    body = {
        "name": name,
        "indexing_technique": "economy",
        "retrieval": {"search_method": "full_text_search"},
    }
    return str(served.insist("POST", "/v1/datasets", body)["id"])


def count_live(served: Served, dataset: str) -> int:
    engine = connect(served.engines.database_url, timeout=30)
    try:
        with read(engine) as connection:
            return int(
                connection.execute(
                    text(
                        "SELECT count(*) FROM documents WHERE dataset_id = :id"
                        " AND live_version = version AND indexing_status = 'completed'"
                        " AND NOT EXISTS (SELECT FROM outbox WHERE document_id = documents.id)"
                    ),
                    {"id": dataset},
                ).scalar_one()
            )
    finally:
        engine.dispose()


def await_live(served: Served, dataset: str, count: int) -> None:
    end = time.monotonic() + PATIENCE
    while (found := count_live(served, dataset)) < count:
        assert time.monotonic() < end, f"{found} of {count}"
        time.sleep(0.5)


def test_o03_both_stores_go_away_and_come_back_among_many_documents(
    served: Served, say: Callable[[str], None]
) -> None:
    dataset, engines = make_dataset(served, "outage"), served.engines
    path = f"/v1/datasets/{dataset}/documents"
    served.insist("POST", f"{path}?wait=true", {"name": "lasting", "text": "lasting words"})
    await_live(served, dataset, 1)
    returning = threading.Timer(1, engines.start_both)
    begun = time.monotonic()
    with Watching(served, dataset) as watching:
        for first in range(0, DOCUMENTS, BATCH):
            if first == DOCUMENTS // 4:
                engines.stop_opensearch()
            if first == DOCUMENTS // 2:
                engines.stop_postgres()
                returning.start()
            batch = [
                {"name": f"n{n}", "external_id": f"n{n}", "text": f"words of document{n}"}
                for n in range(first, first + BATCH)
            ]
            answers = served.insist("POST", f"{path}/batch", {"documents": batch})["documents"]
            assert all("id" in each for each in answers), answers
        returning.join(PATIENCE)
        back = time.monotonic()
        await_live(served, dataset, DOCUMENTS + 1)
        done = time.monotonic()
    say(
        f"{DOCUMENTS} documents, sent and both stores back after {back - begun:.0f} s,"
        f" in step {done - back:.0f} s later; queries meanwhile: {dict(watching.seen)}"
    )
    assert watching.wrong == []
    assert watching.seen["right"]
    assert watching.seen["503"]
    assert_agree(served, dataset, DOCUMENTS + 1)


def assert_agree(served: Served, dataset: str, count: int) -> None:
    engine = connect(served.engines.database_url, timeout=30)
    search = connect_search(served.engines.search_url, timeout=30)
    parts = Parts(
        engine=engine,
        index=OpenSearchChunkIndex(search, PREFIX),
        builder=OpenSearchIndexBuilder(search, PREFIX),
        queue=FakeChangeQueue(),
    )
    report, _ = reconcile(parts, repairs=False)
    counts = report.datasets[dataset]
    assert (counts.documents, counts.chunks, counts.indexed) == (count, count, count)
    assert (counts.differing, counts.waiting) == (0, 0)
    engine.dispose()
    search.close()


def test_o09_a_service_that_was_frozen_answers_its_next_query_in_time(served: Served) -> None:
    dataset, engines = make_dataset(served, "o09"), served.engines
    path = f"/v1/datasets/{dataset}/documents?wait=true"
    served.insist("POST", path, {"name": "a", "text": "words"})
    query = {"query": "words", "dataset_ids": [dataset], "deadline_ms": 5_000}
    for _ in range(3):
        assert served.ask("POST", "/v1/retrieve", query)[0] == 200
    served.send(signal.SIGSTOP)
    lines = (engines.database, engines.search)
    for line in lines:
        line.hang_up()  # as servers do with connections that lie idle
    time.sleep(3)
    opened = [line.opened for line in lines]
    served.send(signal.SIGCONT)
    status, answer = served.ask("POST", "/v1/retrieve", query)
    assert (status, answer["degraded"]) == (200, [])
    assert [record["title"] for record in answer["records"]] == ["a"]
    assert answer["timings_ms"]["total"] < 5_000
    # The loop and the requests have pools of their own.
    assert all(line.opened - before <= 4 for line, before in zip(lines, opened, strict=True))


def test_o03_a_service_whose_connections_died_in_every_way_goes_on_by_itself(
    served: Served,
) -> None:
    dataset, engines = make_dataset(served, "o03"), served.engines
    path = f"/v1/datasets/{dataset}/documents"

    def is_found(name: str, within: float = 60) -> None:
        served.insist("POST", path, {"name": name, "text": f"words of {name}"})
        end = time.monotonic() + within
        while True:
            query = {"query": name, "dataset_ids": [dataset]}
            status, answer = served.ask("POST", "/v1/retrieve", query)
            if status == 200 and [each["title"] for each in answer["records"]][:1] == [name]:
                return
            assert time.monotonic() < end, (status, answer)
            time.sleep(0.2)

    is_found("before")
    other = connect(engines.database_url, timeout=30)
    with read(other) as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'winnow' AND pid <> pg_backend_pid()"
            )
        )
    other.dispose()
    is_found("terminated")
    lost = engines.search.target
    engines.search.lead_to("127.0.0.1", 9)  # where nobody listens; another test restarts it
    engines.search.hang_up()
    query = {"query": "before", "dataset_ids": [dataset]}
    assert served.ask("POST", "/v1/retrieve", query)[0] == 503
    engines.search.lead_to(*lost)
    is_found("back")
    # Whoever waits for an answer on frozen connections waits for ever, if he is not careful; and
    # the server would keep the locks of the transaction that is open on one of them for ever.
    engines.database.freeze_at(b"DELETE FROM outbox", b"commit")
    is_found("finishing")
    engines.search.freeze()
    is_found("frozen", within=120)
    end = time.monotonic() + 120
    while (health := served.ask("GET", "/health?deep=1")[1])["oldest_work_seconds"] > 0:
        assert time.monotonic() < end, health
        time.sleep(0.5)
    assert health["status"] == "ok"
