"""Both stores go away and come back while documents come in: all by itself it is made good."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import urllib3
from sqlalchemy import make_url, text
from urllib3.util import parse_url

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from local.home import Home
from local.opensearch import OpenSearch
from local.postgres import Postgres
from local.progress import NoProgress
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import connect as connect_search
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.engine import connect, read
from tests.fakes.queue import FakeChangeQueue
from tests.servers.line import Line, running_line
from tests.soak.sizes import choose

WINNOW = Path(sys.executable).parent / "winnow"
DOCUMENTS = choose(150, 1_000)
BATCH = 10
PATIENCE = 300
KEY = "k" * 32
PREFIX = "outage"


class Engines:
    """Both engines of one home, stopped and started again behind lines that stay."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self._home = Home.open(folder)
        self._running = running
        self._postgres = self._start(Postgres(self._home))
        self._opensearch = self._start(OpenSearch(self._home, NoProgress()))
        self.database = self._lead(make_url(self._postgres[1]))
        self.search = self._lead(parse_url(self._opensearch[1]))

    def _start(self, engine: Any) -> tuple[Any, str]:
        url = engine.start()
        self._running.callback(engine.stop)
        return engine, url

    def _lead(self, url: Any) -> Line:
        return self._running.enter_context(running_line("127.0.0.1", url.port))

    @property
    def database_url(self) -> str:
        url = make_url(self._postgres[1]).set(port=self.database.port)
        return url.render_as_string(hide_password=False)

    @property
    def search_url(self) -> str:
        return f"http://127.0.0.1:{self.search.port}"

    def stop_postgres(self) -> None:
        self._postgres[0].stop()

    def stop_opensearch(self) -> None:
        self._opensearch[0].stop()

    def start_postgres(self) -> None:
        self._postgres = self._start(Postgres(self._home))
        self.database.lead_to("127.0.0.1", make_url(self._postgres[1]).port or 0)

    def start_opensearch(self) -> None:
        self._opensearch = self._start(OpenSearch(self._home, NoProgress()))
        self.search.lead_to("127.0.0.1", parse_url(self._opensearch[1]).port or 0)


class Served:
    """`winnow serve` on these engines, and its API."""

    def __init__(self, engines: Engines, home: Path, running: ExitStack) -> None:
        self.engines = engines
        own = {name: value for name, value in os.environ.items() if not name.startswith("WINNOW_")}
        self._process = subprocess.Popen(  # noqa: S603, our own command
            [WINNOW, "serve", "--port", "0", "--home", home],
            env=own
            | {
                "WINNOW_DATABASE_URL": engines.database_url,
                "WINNOW_OPENSEARCH_URL": engines.search_url,
                "WINNOW_INDEX_PREFIX": PREFIX,
                "WINNOW_BOOTSTRAP_KEY": KEY,
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        running.callback(self._stop)
        assert self._process.stderr is not None
        said = ""
        while "Ctrl-C ends it" not in said:
            line = self._process.stderr.readline()
            assert line, said
            said += line
        (self.url,) = re.findall(r"http://127\.0\.0\.1:\d+", said)[:1]
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        self._pool = urllib3.PoolManager(
            headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
            retries=False,
            timeout=60,
            maxsize=4,
        )

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        answer = self._pool.request(method, self.url + path, body=data)
        return answer.status, answer.json() if answer.data else None

    def insist(self, method: str, path: str, body: Any = None) -> Any:
        """Asks until it is taken, as a client does that is told to come again."""
        end = time.monotonic() + PATIENCE
        while True:
            status, answer = self.ask(method, path, body)
            if status < 300:
                return answer
            assert status == 503, (status, answer)
            assert time.monotonic() < end
            time.sleep(0.2)

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


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


def test_both_stores_go_away_and_come_back_among_many_documents(
    served: Served, say: Callable[[str], None]
) -> None:
    dataset, engines = make_dataset(served, "outage"), served.engines
    path = f"/v1/datasets/{dataset}/documents"
    served.insist("POST", f"{path}?wait=true", {"name": "lasting", "text": "lasting words"})
    await_live(served, dataset, 1)
    outages = {
        DOCUMENTS // 4: engines.stop_opensearch,
        DOCUMENTS // 2: engines.stop_postgres,
    }
    returns = threading.Thread(target=lambda: come_back(engines, away))
    away = threading.Event()
    begun = time.monotonic()
    with Watching(served, dataset) as watching:
        returns.start()
        for first in range(0, DOCUMENTS, BATCH):
            for at, stop in list(outages.items()):
                if first >= at:
                    outages.pop(at)
                    stop()
                    if not outages:
                        away.set()
            batch = [
                {"name": f"n{n}", "external_id": f"n{n}", "text": f"words of document{n}"}
                for n in range(first, min(first + BATCH, DOCUMENTS))
            ]
            answers = served.insist("POST", f"{path}/batch", {"documents": batch})["documents"]
            while again := [
                each for each, answer in zip(batch, answers, strict=True) if "id" not in answer
            ]:
                batch = again
                answers = served.insist("POST", f"{path}/batch", {"documents": batch})["documents"]
        returns.join(PATIENCE)
        await_live(served, dataset, DOCUMENTS + 1)
        seconds = time.monotonic() - begun
    say(f"{DOCUMENTS} documents in {seconds:.0f} s, both stores away; answers: {watching.seen}")
    assert watching.wrong == []
    assert watching.seen["right"]
    assert watching.seen["503"]
    assert_agree(served, dataset, DOCUMENTS + 1)


def come_back(engines: Engines, away: threading.Event) -> None:
    assert away.wait(PATIENCE)
    time.sleep(1)  # while both are away
    engines.start_opensearch()
    engines.start_postgres()


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


def test_o03_a_service_whose_connections_died_in_every_way_goes_on_by_itself(
    served: Served,
) -> None:
    dataset, engines = make_dataset(served, "o03"), served.engines
    path = f"/v1/datasets/{dataset}/documents"

    def is_found_within_a_minute(name: str) -> None:
        served.insist("POST", path, {"name": name, "text": f"words of {name}"})
        end = time.monotonic() + 60
        query = {"query": name, "dataset_ids": [dataset]}
        while True:
            status, answer = served.ask("POST", "/v1/retrieve", query)
            if status == 200 and [each["title"] for each in answer["records"]][:1] == [name]:
                return
            assert time.monotonic() < end, (status, answer)
            time.sleep(0.2)

    is_found_within_a_minute("before")
    other = connect(engines.database_url, timeout=30)
    with read(other) as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'winnow' AND pid <> pg_backend_pid()"
            )
        )
    other.dispose()
    is_found_within_a_minute("terminated")
    engines.stop_opensearch()
    engines.start_opensearch()
    is_found_within_a_minute("restarted")
    for line in (engines.database, engines.search):
        line.freeze()  # whoever waits for an answer on these waits for ever, if he is not careful
    is_found_within_a_minute("frozen")
    status, health = served.ask("GET", "/health?deep=1")
    assert (status, health["status"], health["oldest_work_seconds"]) == (200, "ok", 0)
