"""One application for all tests over real engines; each test makes datasets of its own."""

import gc
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, make_url, text

from functions.migrate.run import upgrade
from shared.content.folder import FolderContentStore
from shared.opensearch import client as opensearch
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.engine import connect
from tests.conftest import Engines, delete_indices
from tests.fakes.chunks import InMemoryChunks
from tests.fakes.content import FakeContentStore
from tests.integration.app import App, build


@pytest.fixture(scope="session")
def migrated_url(engines: Engines) -> Iterator[str]:
    """A database with the newest schema, for tests that keep to datasets of their own."""
    name = f"test_{uuid.uuid4().hex}"
    server = create_engine(engines.database_url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    url = make_url(engines.database_url).set(database=name).render_as_string(hide_password=False)
    engine = connect(url, timeout=10)
    upgrade(engine)
    engine.dispose()
    yield url
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


@pytest.fixture(scope="session")
def database(migrated_url: str) -> Iterator[Engine]:
    engine = connect(migrated_url, timeout=10, pool_size=8)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def app(
    database: Engine, opensearch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[App]:
    """The application over both real stores."""
    prefix = f"t{uuid.uuid4().hex[:12]}"
    engine = opensearch.connect(opensearch_url)
    folder: Path = tmp_path_factory.mktemp("content")
    made = build(
        database,
        OpenSearchChunkIndex(engine, prefix),
        OpenSearchChunkSearch(engine, prefix),
        FolderContentStore(folder),
        threads=16,
    )
    yield made
    made.retrieve_parts.searcher.pool.close()
    engine.close()
    delete_indices(opensearch_url, prefix)


@pytest.fixture
def statements(app: App) -> Iterator[list[str]]:
    """Every statement that goes to the database."""
    sent: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(app.engine, "before_cursor_execute", note)
    yield sent
    event.remove(app.engine, "before_cursor_execute", note)


@pytest.fixture
def in_memory(database: Engine) -> Iterator[Callable[[InMemoryChunks], App]]:
    """Makes applications over the real PostgreSQL and an index in memory."""
    made: list[App] = []

    def make(chunks: InMemoryChunks) -> App:
        made.append(build(database, chunks, chunks, FakeContentStore(), threads=4))
        return made[-1]

    yield make
    for each in made:
        each.retrieve_parts.searcher.pool.close()


@pytest.fixture
def driver_leaks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The driver leaves the socket of a connection that failed to the garbage collector."""
    yield
    caplog.get_records("call").clear()  # their errors hold sockets
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
