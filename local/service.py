"""The whole product in this process, for as long as a block runs: engines, API and ingest loop."""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from local import stack
from local.artifacts import Cache, model_files
from local.bars import Watcher
from local.errors import EngineError
from local.home import Home
from local.loop import IngestLoop
from local.opensearch import DEFAULT_HEAP
from local.pins import MODEL_FILES
from local.rounds import Rounds
from local.terminal import tell
from shared.errors import Unavailable
from shared.settings import Settings, read_settings
from shared.telemetry import logger

if TYPE_CHECKING:
    from fastapi import FastAPI

HOST = "127.0.0.1"
RECORD = "service.json"
KEY = "bootstrap-key"
LOG = "winnow.log"
END_SECONDS = 5
"""How long requests that are being answered may go on at the end."""

DATABASE_SETTING = "WINNOW_DATABASE_URL"
OPENSEARCH_SETTING = "WINNOW_OPENSEARCH_URL"
CONTENT_SETTING = "WINNOW_CONTENT_URL"
MODELS_SETTING = "WINNOW_LOCAL_MODELS"
KEY_SETTING = "WINNOW_BOOTSTRAP_KEY"
STORES = (
    "database_url",
    "database_iam",
    "opensearch_url",
    "opensearch_auth",
    "index_prefix",
    "index_shards",
    "index_replicas",
    "content_url",
    "queue_url",
)
"""Settings that say where everything is kept."""

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Service:
    """A running Winnow.

    Attributes:
        url: of the API.
        key: opens it.
        stores: the settings by which it reaches its stores.
        pid: the process that it is.
    """

    url: str
    key: str
    stores: Mapping[str, Any]
    pid: int


@contextmanager
def run_service(home: Home, watcher: Watcher, port: int = 0) -> Iterator[Service]:
    """Yields the service once it answers; after the block nothing of it runs any more.

    Once a process: the settings and the functions' own clients live as long as it does.

    Args:
        home: keeps everything.
        watcher: watches downloads and starts.
        port: of the API; 0 takes a free one.

    Raises:
        EngineError: the port or the home is in use, a setting is wrong, or an engine can't run.
    """
    embedded = not os.environ.get(DATABASE_SETTING)
    with ExitStack() as cleanup:
        listener = cleanup.enter_context(_listen(port))
        _check_servers(_check_settings())
        engines = cleanup.enter_context(_start_engines(home, watcher))
        _log_to(home.logs / LOG)
        settings = _make_settings(home, engines)
        # Late: the functions read their settings when they are imported.
        from local.assembly import assemble  # noqa: PLC0415

        app, loop, rounds = assemble(settings, is_alone=embedded)
        cleanup.enter_context(_running(loop))
        cleanup.enter_context(_running(rounds))
        cleanup.enter_context(_answer(app, listener))
        key = settings.bootstrap_key.get_secret_value() if settings.bootstrap_key else ""
        url = f"http://{HOST}:{listener.getsockname()[1]}"
        service = Service(url, key, _list_stores(), os.getpid())
        cleanup.enter_context(_recorded(home, service))
        yield service


def find_service(home: Home) -> Service | None:
    """Returns the service that another process runs in this home."""
    try:
        record = json.loads((home.folder / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    service = Service(**record)
    return service if service.pid == home.read_owner() else None


@contextmanager
def _listen(port: int) -> Iterator[socket.socket]:
    """Takes the port before anything else is started."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EngineError(
                f"Port {port} of {HOST} can't be used ({reason}): choose another with --port."
            ) from error
        yield listener


@contextmanager
def _start_engines(home: Home, watcher: Watcher) -> Iterator[stack.Stack]:
    database, opensearch = (os.environ.get(s) for s in (DATABASE_SETTING, OPENSEARCH_SETTING))
    heap = os.environ.get("WINNOW_OPENSEARCH_HEAP", DEFAULT_HEAP)
    cache = Cache()
    with ExitStack() as cleanup:
        if database and opensearch:  # nothing is started that would hold the home
            cleanup.enter_context(home.locked())
        pool = cleanup.enter_context(ThreadPoolExecutor(1))
        cleanup.callback(cache.stop)
        models = pool.submit(_fetch_models, cache, watcher)
        engines = cleanup.enter_context(
            stack.start(
                home.folder,
                watcher,
                database_url=database,
                opensearch_url=opensearch,
                heap=heap,
            )
        )
        models.result()
        yield engines


def _fetch_models(cache: Cache, watcher: Watcher) -> None:
    if MODELS_SETTING not in os.environ:
        for name in MODEL_FILES:
            model_files(name, cache, watcher)


def _log_to(path: Path) -> None:
    """Sends what libraries and functions log to a file: the terminal is for people."""
    if path.exists():
        path.replace(path.with_suffix(".log.1"))
    logging.basicConfig(filename=path, level=logging.WARNING, force=True)
    file = logging.FileHandler(path, encoding="utf-8")
    file.setFormatter(logger.registered_formatter)
    logger.handlers[:] = [file]
    logging.getLogger(logger.service).propagate = False  # or each line would be there twice


def _make_settings(home: Home, engines: stack.Stack) -> Settings:
    """Completes the environment, which every function reads its settings from.

    Raises:
        EngineError: a setting of the user's is wrong.
    """
    os.environ[DATABASE_SETTING] = engines.database_url
    os.environ[OPENSEARCH_SETTING] = engines.opensearch_url
    os.environ.setdefault(CONTENT_SETTING, (home.folder / "content").as_uri())
    os.environ.setdefault(MODELS_SETTING, str(Cache().folder / "models"))
    if KEY_SETTING not in os.environ:
        os.environ[KEY_SETTING] = _read_key(home)
    with naming_settings():
        return read_settings()


def _check_settings() -> Settings:
    """Reads the settings before anything is started, with stand-ins for what is not known yet.

    Raises:
        EngineError: a setting of the user's is wrong.
    """
    stand_ins = {
        DATABASE_SETTING: "postgresql+pg8000://",
        OPENSEARCH_SETTING: "http://localhost",
        CONTENT_SETTING: "file:///content",
    }
    missing: dict[str, Any] = {
        name.removeprefix("WINNOW_").lower(): url
        for name, url in stand_ins.items()
        if not os.environ.get(name)
    }
    with naming_settings():
        return Settings(**missing)


def _list_stores() -> dict[str, str]:
    variables = {name: f"WINNOW_{name}".upper() for name in STORES}
    return {name: os.environ[v] for name, v in variables.items() if v in os.environ}


@contextmanager
def naming_settings() -> Iterator[None]:
    """Turns a setting that does not fit into an `EngineError` that names it."""
    try:
        yield
    except ValidationError as error:
        wrong = [f"WINNOW_{e['loc'][0]}".upper() + f": {e['msg']}" for e in error.errors()]
        raise EngineError("\n".join(wrong)) from error


def _check_servers(settings: Settings) -> None:
    """Asks the servers that the user names, before others are started.

    Raises:
        ConfigurationError: a setting is no URL of such a server, or not of a content store.
        EngineError: one does not answer.
    """
    from shared.clients import connect_database, connect_search  # noqa: PLC0415, slow to load
    from shared.content.open import open_content_store  # noqa: PLC0415
    from shared.postgres.engine import read  # noqa: PLC0415

    open_content_store(settings.content_url)
    if os.environ.get(DATABASE_SETTING):
        database = connect_database(settings)
        parts = "host, port, name, user and password"
        with _naming_server(DATABASE_SETTING, parts), read(database):
            pass
        database.dispose()
    if os.environ.get(OPENSEARCH_SETTING):
        search = connect_search(settings)
        with closing(search), _naming_server(OPENSEARCH_SETTING, "host and port"):
            search.request("GET", "/")


@contextmanager
def _naming_server(setting: str, parts: str) -> Iterator[None]:
    try:
        yield
    except Unavailable as error:
        raise EngineError(f"{setting}: {error} Check its {parts}.") from error


def _read_key(home: Home) -> str:
    path = home.folder / KEY
    is_new = not path.exists()
    key = home.read_secret(KEY)
    if is_new:
        tell(f"The administrator's key, kept in {path} and not shown again: {key}")
    return key


@contextmanager
def _running(worker: IngestLoop | Rounds) -> Iterator[None]:
    worker.start()
    try:
        yield
    finally:
        worker.stop()


@contextmanager
def _answer(app: "FastAPI", listener: socket.socket) -> Iterator[None]:
    import uvicorn  # noqa: PLC0415, heavy, and needed by nothing else

    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=END_SECONDS,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=[[listener]], name="api", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(_POLL_SECONDS)
        if not server.started:
            raise EngineError("The API could not be started; the log in the home tells more.")
        yield
    finally:
        server.should_exit = True
        thread.join(2 * END_SECONDS)


@contextmanager
def _recorded(home: Home, service: Service) -> Iterator[None]:
    """Tells other processes where the service is, and with which key; its owner's alone."""
    path = home.folder / RECORD
    unfinished = path.with_name(RECORD + ".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(asdict(service)), encoding="utf-8")
    unfinished.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
