"""`winnow serve` on engines of its own, which can be stopped and started again meanwhile."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import urllib3
from sqlalchemy import make_url
from urllib3.util import parse_url

from local.home import Home
from local.opensearch import OpenSearch
from local.postgres import Postgres
from local.progress import NoProgress
from tests.servers.line import Line, running_line

WINNOW = Path(sys.executable).parent / "winnow"
PATIENCE = 420
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

    def start_both(self) -> None:
        self.start_postgres()
        self.start_opensearch()


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
        (self.url,) = re.findall(r"http://127\.0\.0\.1:\d+", self._await_start())[:1]
        self._reader = threading.Thread(target=self._process.communicate)
        self._reader.start()
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

    def send(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def _await_start(self) -> str:
        assert self._process.stderr is not None
        said = ""
        while "Ctrl-C ends it" not in said:
            line = self._process.stderr.readline()
            assert line, said
            said += line
        return said

    def _stop(self) -> None:
        self._process.terminate()
        self._reader.join()
