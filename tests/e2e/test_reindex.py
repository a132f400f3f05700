"""`winnow reindex` killed on its way, and an index where an alias must be."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from sqlalchemy import Engine, text

from functions.migrate.run import upgrade
from shared.model import EmbeddingSpace
from shared.opensearch.client import connect as connect_search
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.mapping import alias_name, building_name, index_name
from shared.postgres.engine import connect, read, transaction
from tests.integration.functions.ingest.world import World

WINNOW = Path(sys.executable).parent / "winnow"
PATIENCE = 120


class Place:
    """A database and a prefix of indices, with one document in them."""

    def __init__(self, engine: Engine, url: str, prefix: str, folder: Path) -> None:
        self.engine = engine
        self.url = url
        self.prefix = prefix
        self.folder = folder
        self.world = World(engine)
        search = connect_search(url)
        self.world.index = OpenSearchChunkIndex(search, prefix)
        self.alias = alias_name(prefix, self.space)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("WINNOW_")
        } | {
            "WINNOW_DATABASE_URL": engine.url.render_as_string(hide_password=False),
            "WINNOW_OPENSEARCH_URL": url,
            "WINNOW_INDEX_PREFIX": prefix,
        }

    @property
    def space(self) -> EmbeddingSpace:
        return self.world.dataset.space

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603, our own command
            [WINNOW, *arguments, "--home", self.folder],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, err
        return out, err

    def list_indices(self) -> dict[str, set[str]]:
        found = urllib3.request("GET", f"{self.url}/{self.prefix}*/_alias").json()
        return {name: set(index["aliases"]) for name, index in found.items()}

    def kill_once(self, happened: Any) -> None:
        """Ends a reindex without warning, as soon as something has happened."""
        process = self.start("reindex")
        end = time.monotonic() + PATIENCE
        while not happened():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


@pytest.fixture
def place(
    database_url: str, opensearch_url: str, index_prefix: str, tmp_path: Path
) -> Iterator[Place]:
    engine = connect(database_url, timeout=10)
    upgrade(engine)
    with transaction(engine) as connection:
        connection.execute(text("DELETE FROM datasets"))
        connection.execute(text("DELETE FROM index_builds"))
    made = Place(engine, opensearch_url, index_prefix, tmp_path)
    yield made
    engine.dispose()


def fill(place: Place) -> None:
    world = place.world
    world.parts = type(world.parts)(
        **{
            name: getattr(world.parts, name)
            for name in world.parts.__dataclass_fields__
            if name != "index"
        },
        index=world.index,
    )
    world.work(world.put("a", "one", "two"))


def test_o11_a_reindex_that_is_killed_leaves_an_index_that_is_named_and_gone_on_with(
    place: Place,
) -> None:
    fill(place)
    first, second = index_name(place.alias), index_name(place.alias, 2)
    with transaction(place.engine) as connection:
        # Where the first page is read, the build stops; it waits there no longer than five seconds.
        connection.execute(text("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE"))
        place.kill_once(lambda: is_building(place))
    live = {first: {place.alias}, second: {building_name(place.alias)}}
    assert place.list_indices() == live
    _, err = place.run("reconcile", "--dry-run")
    assert f"The index {second} is not live" in err
    place.world.work(place.world.put("a", "one", "three"))  # written to both
    _, err = place.run("reindex")
    assert "Built 1 indices of 2 chunks." in err
    assert place.list_indices() == {second: {place.alias}}
    listed = place.world.index.list_chunks(place.space, None, None, 9)
    assert [each.chunk_id for each in listed] == place.world.live_ids()


def test_o11_a_reindex_that_is_killed_after_the_flip_is_finished_by_the_next(
    place: Place,
) -> None:
    fill(place)
    with transaction(place.engine) as connection:
        place.kill_once(lambda: hold_the_end(place, connection))
    second, third = index_name(place.alias, 2), index_name(place.alias, 3)
    assert place.list_indices()[second] == {place.alias, building_name(place.alias)}
    place.run("reindex")
    assert place.list_indices() == {third: {place.alias}}


def hold_the_end(place: Place, connection: Any) -> bool:
    """Keeps the build from ending once it has begun; tells whether it is live."""
    if is_building(place):
        connection.execute(text("SELECT pg_advisory_xact_lock_shared(8461728)"))
    return any(len(aliases) == 2 for aliases in place.list_indices().values())


def is_building(place: Place) -> bool:
    with read(place.engine) as connection:
        return bool(connection.scalar(text("SELECT is_under_way FROM index_builds")))


def test_o11_an_index_that_has_the_name_of_an_alias_stops_the_start(place: Place) -> None:
    urllib3.request("PUT", f"{place.url}/{place.alias}")
    _, err = place.run("serve", "--port", "0", code=1)
    said = f"An index is named {place.alias}, where Winnow needs an alias: delete it."
    assert said in err.splitlines()
    assert place.list_indices() == {place.alias: set()}
