"""`winnow serve` and `winnow stop`."""

import os
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from local.bars import watching
from local.errors import EngineError
from local.home import Home, default_home
from local.service import run_service
from local.terminal import tell

STOP_SECONDS = 90.0
"""Requests, documents and engines all end in order."""

_POLL_SECONDS = 0.1


def serve(folder: Path | None, port: int) -> None:
    """Serves the API until Ctrl-C, SIGTERM or `winnow stop`."""
    home = Home.open(folder)
    with ExitStack() as cleanup:
        with watching() as watcher:
            service = cleanup.enter_context(run_service(home, watcher, port))
        tell(f"Winnow serves {service.url}, its API described at {service.url}/docs.")
        tell(f"Everything is kept in {home.folder}. Ctrl-C ends it.")
        threading.Event().wait()


def stop(folder: Path | None) -> None:
    """Ends the process that uses a home, and waits until it is gone.

    Raises:
        EngineError: none does, or it does not end.
    """
    home = Home((folder or default_home()).expanduser().resolve(), None)
    owner = home.read_owner()
    if owner is None:
        raise EngineError(f"Nothing runs in {home.folder}.")
    os.kill(owner, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while home.read_owner() == owner:
        if time.monotonic() > deadline:
            raise EngineError(f"Process {owner} was told to end, and has not yet.")
        time.sleep(_POLL_SECONDS)
    tell(f"Stopped process {owner}.")
