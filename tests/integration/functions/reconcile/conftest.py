"""A database of these tests' own: reconcile looks at all that there is."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, delete

from functions.migrate.run import upgrade
from functions.reconcile.parts import Parts
from shared.postgres.engine import connect, transaction
from shared.postgres.tables import datasets, reconcile_place
from tests.fakes.chunks import InMemoryBuilder
from tests.fakes.queue import FakeChangeQueue
from tests.integration.functions.ingest.world import World


@pytest.fixture(scope="module")
def own_database(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, timeout=10, pool_size=8)
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def empty(own_database: Engine) -> Engine:
    """The same, without any dataset."""
    with transaction(own_database) as connection:
        connection.execute(delete(datasets))
        connection.execute(delete(reconcile_place))
    return own_database


@pytest.fixture
def world(empty: Engine) -> World:
    return World(empty)


@pytest.fixture
def queue() -> FakeChangeQueue:
    return FakeChangeQueue()


@pytest.fixture
def parts(world: World, queue: FakeChangeQueue) -> Parts:
    return Parts(
        engine=world.engine, index=world.index, builder=InMemoryBuilder(world.index), queue=queue
    )
