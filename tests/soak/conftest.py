"""Both real engines for what goes on for long: a database of each module's own."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine

from functions.migrate.run import upgrade
from shared.opensearch.client import SearchEngine
from shared.opensearch.client import connect as connect_search
from shared.postgres.engine import connect


@pytest.fixture(scope="module")
def database(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, timeout=10, pool_size=16)
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def search(opensearch_url: str) -> Iterator[SearchEngine]:
    engine = connect_search(opensearch_url, timeout=30)
    yield engine
    engine.close()


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Writes a line that is seen even where all is well."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}", flush=True)  # noqa: T201

    return say
