"""Both embedded engines as one: `start` for programs, `python -m local.stack` for developers."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from local.artifacts import reporting_disk_trouble
from local.errors import EngineError
from local.home import Home
from local.opensearch import DEFAULT_HEAP, OpenSearch
from local.postgres import Postgres
from local.progress import PlainProgress, Progress


class Engine(Protocol):
    """A server that can be started once."""

    def start(self) -> str:
        """Starts it and returns its URL."""

    def stop(self) -> None:
        """Stops it, even while it starts."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Two servers that are up. As a context manager it stops them at its end.

    Attributes:
        database_url: SQLAlchemy URL of the PostgreSQL database.
        opensearch_url: URL of OpenSearch.
    """

    database_url: str
    opensearch_url: str
    stop: Callable[[], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start(
    home: Path | None = None,
    progress: Progress | None = None,
    *,
    database_url: str | None = None,
    opensearch_url: str | None = None,
    heap: str = DEFAULT_HEAP,
) -> Stack:
    """Starts both engines of a home at once, and returns when both answer.

    Args:
        home: the folder that keeps everything; the user's own when not given.
        progress: watches downloads and starts.
        database_url: another PostgreSQL to use; then none is started.
        opensearch_url: another OpenSearch to use; then none is started.
        heap: OpenSearch's memory, such as 512m or 2g.

    Raises:
        EngineError: the home is in use, or an engine can't run; then nothing is left running.
    """
    progress = progress or PlainProgress()
    if database_url and opensearch_url:
        return Stack(database_url, opensearch_url, lambda: None)
    opened = Home.open(home)
    engines: dict[str, Engine] = {}
    with reporting_disk_trouble(opened.folder), ExitStack() as cleanup:
        cleanup.enter_context(opened.locked())
        if not database_url:
            engines["PostgreSQL"] = Postgres(opened)
        if not opensearch_url:
            engines["OpenSearch"] = OpenSearch(opened, progress, heap)
        cleanup.callback(stop_all, engines.values())
        urls = start_all(engines, progress)
        return Stack(
            database_url or urls["PostgreSQL"],
            opensearch_url or urls["OpenSearch"],
            cleanup.pop_all().close,
        )


def start_all(engines: Mapping[str, Engine], progress: Progress) -> dict[str, str]:
    """Starts the engines at once and returns their URLs; when one fails the others are stopped."""
    with ThreadPoolExecutor(max(1, len(engines))) as pool:
        starts = {
            name: pool.submit(start_one, name, engine, progress) for name, engine in engines.items()
        }
        try:
            done, _ = wait(starts.values(), return_when=FIRST_EXCEPTION)
            for start in done:
                start.result()
            return {name: start.result() for name, start in starts.items()}
        except BaseException:
            stop_all(engines.values())  # ends the other threads' waiting too
            raise


def start_one(name: str, engine: Engine, progress: Progress) -> str:
    """Starts one engine as a task that is watched."""
    task = f"Starting {name}"
    progress.begin(task)
    url = engine.start()
    progress.finish(task)
    return url


def stop_all(engines: Iterable[Engine]) -> None:
    """Stops the engines at once, each even when another fails to stop."""
    with ThreadPoolExecutor() as pool:
        for stopped in [pool.submit(engine.stop) for engine in engines]:
            stopped.result()


def main() -> int:
    """Starts a stack, prints where it listens, and runs it until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m local.stack", description=main.__doc__)
    parser.add_argument("--home", type=Path, help="the folder that keeps everything")
    home = parser.parse_args().home
    heap = os.environ.get("WINNOW_OPENSEARCH_HEAP", DEFAULT_HEAP)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with start(
            home,
            database_url=os.environ.get("WINNOW_DATABASE_URL"),
            opensearch_url=os.environ.get("WINNOW_OPENSEARCH_URL"),
            heap=heap,
        ) as stack:
            print(f"export WINNOW_DATABASE_URL={stack.database_url}")
            print(f"export WINNOW_OPENSEARCH_URL={stack.opensearch_url}", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        return 130
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
