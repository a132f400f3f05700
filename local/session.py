"""A client of the API of a home, whether or not Winnow runs there already."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from logging import NullHandler
from pathlib import Path

from local.bars import watching
from local.client import Client
from local.home import Home
from local.service import find_service, run_service
from shared.telemetry import logger


@contextmanager
def open_session(folder: Path | None) -> Iterator[Client]:
    """Yields a client of the service in this home; where none runs, of one for this block.

    Raises:
        EngineError: none runs, and none can be started.
    """
    home = Home.open(folder)
    with ExitStack() as cleanup:
        service = find_service(home)
        if service is not None:
            logger.handlers[:] = [NullHandler()]  # they would stand among the data
        else:
            with watching() as watcher:
                service = cleanup.enter_context(run_service(home, watcher))
        client = Client(service.url, service.key)
        cleanup.callback(client.close)
        yield client
