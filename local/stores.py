"""Both stores of a home, for commands that work on them and ask nothing of the API."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from logging import NullHandler
from pathlib import Path

from sqlalchemy import Engine

from functions.migrate.run import require_newest, upgrade
from functions.reconcile.parts import Parts
from local import stack
from local.bars import Watcher
from local.home import Home
from local.opensearch import DEFAULT_HEAP
from local.service import (
    CONTENT_SETTING,
    DATABASE_SETTING,
    OPENSEARCH_SETTING,
    find_service,
    naming_settings,
)
from shared.clients import connect_database, connect_search
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.index import OpenSearchChunkIndex
from shared.ports import ChangeQueue
from shared.queue.local import LocalQueue
from shared.queue.sqs import SqsQueue
from shared.settings import Settings
from shared.telemetry import logger


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores, and the settings by which they were reached."""

    engine: Engine
    index: OpenSearchChunkIndex
    builder: OpenSearchIndexBuilder
    settings: Settings


@contextmanager
def open_stores(folder: Path | None, watcher: Watcher) -> Iterator[Stores]:
    """Yields the stores that the service in a home uses, or would use.

    Where none runs those are the ones that the settings name, or the home's own engines, which are
    started for this block.

    Raises:
        ConfigurationError: a setting is wrong, or the database has another schema.
        EngineError: an engine can't run.
    """
    home = Home.open(folder)
    logger.handlers[:] = [NullHandler()]  # they would stand among the data
    with ExitStack() as cleanup:
        service = find_service(home)
        if service is not None:
            with naming_settings():
                settings, is_own = Settings(**service.stores), False
        else:
            database, opensearch = map(os.environ.get, (DATABASE_SETTING, OPENSEARCH_SETTING))
            engines = cleanup.enter_context(
                stack.start(
                    home.folder,
                    watcher,
                    database_url=database,
                    opensearch_url=opensearch,
                    heap=os.environ.get("WINNOW_OPENSEARCH_HEAP", DEFAULT_HEAP),
                )
            )
            os.environ.setdefault(CONTENT_SETTING, (home.folder / "content").as_uri())
            with naming_settings():
                settings = Settings(
                    database_url=engines.database_url, opensearch_url=engines.opensearch_url
                )
            is_own = not database
        engine = connect_database(settings)
        cleanup.callback(engine.dispose)
        if is_own:
            upgrade(engine)
        else:
            require_newest(engine)
        search = cleanup.enter_context(closing(connect_search(settings)))
        prefix, copies = settings.index_prefix, settings.index_replicas
        index = OpenSearchChunkIndex(search, prefix, shards=settings.index_shards, replicas=copies)
        builder = OpenSearchIndexBuilder(
            search, prefix, shards=settings.index_shards, replicas=copies
        )
        yield Stores(engine, index, builder, settings)


def make_parts(stores: Stores) -> Parts:
    """Returns what reconcile works with."""
    settings = stores.settings
    # Without a queue the loop of whoever serves reads the outbox itself.
    queue: ChangeQueue = LocalQueue()
    if settings.queue_url is not None:
        queue = SqsQueue(settings.queue_url, timeout=settings.queue_timeout_seconds)
    return Parts(engine=stores.engine, index=stores.index, builder=stores.builder, queue=queue)
