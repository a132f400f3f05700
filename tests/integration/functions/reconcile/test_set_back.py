"""PostgreSQL is set back to an older copy: the index is brought to agree with it again."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from functions.migrate.run import upgrade
from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from shared.analysis.analyzer import analyze
from shared.model import AllDocuments
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine
from shared.opensearch.client import connect as connect_search
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.engine import connect
from shared.settings import DEFAULT_TENANT
from tests.conftest import Engines
from tests.fakes.build import scope
from tests.fakes.queue import FakeChangeQueue
from tests.integration.functions.ingest.world import World


class Backup:
    """A database that can be copied, and set back to the copy."""

    def __init__(self, server: Engine, name: str) -> None:
        self.server = server
        self.name = name
        self.engine = self.open()

    def open(self) -> Engine:
        url = make_url(self.server.url).set(drivername="postgresql+pg8000", database=self.name)
        return connect(url.render_as_string(hide_password=False), timeout=10)

    def run(self, statement: str) -> None:
        with self.server.connect() as connection:
            connection.execute(text(statement))

    def copy(self) -> None:
        self.engine.dispose()
        self.run(f"CREATE DATABASE {self.name}_copy TEMPLATE {self.name}")

    def set_back(self) -> None:
        self.engine.dispose()
        self.run(f"DROP DATABASE {self.name} WITH (FORCE)")
        self.run(f"ALTER DATABASE {self.name}_copy RENAME TO {self.name}")


@pytest.fixture
def backup(engines: Engines) -> Iterator[Backup]:
    server = create_engine(engines.database_url, isolation_level="AUTOCOMMIT")
    name = f"test_{uuid.uuid4().hex}"
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    made = Backup(server, name)
    upgrade(made.engine)
    yield made
    made.engine.dispose()
    for each in (name, f"{name}_copy"):
        made.run(f"DROP DATABASE IF EXISTS {each} WITH (FORCE)")
    server.dispose()


@pytest.fixture
def search(opensearch_url: str) -> Iterator[SearchEngine]:
    engine = connect_search(opensearch_url, timeout=30)
    yield engine
    engine.close()


@pytest.fixture
def world(backup: Backup, search: SearchEngine, index_prefix: str) -> World:
    return World(backup.engine, lambda _: OpenSearchChunkIndex(search, index_prefix))


@pytest.fixture
def find(world: World, search: SearchEngine, index_prefix: str) -> Callable[[str], list[int]]:
    """Returns the `seq`s that the index itself finds by a word, PostgreSQL not asked."""

    def find(word: str) -> list[int]:
        where = scope(
            world.dataset.space, (world.dataset.id, AllDocuments()), tenant=DEFAULT_TENANT
        )
        hits = OpenSearchChunkSearch(search, index_prefix).search_text(
            where, analyze(word), 100, 10
        )
        rows = world.rows("SELECT c.id::text, d.seq FROM chunks c"
                          " JOIN documents d ON d.id = c.document_id")  # fmt: skip
        known = dict(rows)
        return sorted(known.get(hit.chunk_id, -1) for hit in hits)

    return find


def test_the_index_agrees_again_with_a_database_that_was_set_back(
    backup: Backup,
    world: World,
    search: SearchEngine,
    index_prefix: str,
    find: Callable[[str], list[int]],
) -> None:
    for name in ("kept", "updated", "deleted", "shrunk"):
        world.work(world.put(name, name, f"{name} too", "shared"))
    backup.copy()
    # What is lost by setting back:
    world.work(world.put("updated", "newer", "shared"))
    world.work(world.delete("deleted"))
    world.work(world.put("shrunk", "shrunk"))
    for name in ("made", "another", "third"):
        world.work(world.put(name, f"{name} later", "shared"))
    world.work(world.delete("third"))

    backup.set_back()
    # Sent before anybody thought of reconcile: the same text as was lost, and a number (`seq`) and
    # versions that the index has seen already.
    world.work(world.put("another", "another later", "shared"))
    world.work(world.put("updated", "shared", "updated"))
    assert find("newer") == [-1]  # which no query shows

    builder = OpenSearchIndexBuilder(search, index_prefix)
    parts = Parts(engine=backup.engine, index=world.index, builder=builder, queue=FakeChangeQueue())
    report, _ = reconcile(parts)
    counts = report.sum()
    assert counts.missing
    assert counts.orphaned
    assert counts.outdated
    assert counts.left == 0
    listed = world.index.list_chunks(world.dataset.space, None, None, 100)
    kept = world.rows("SELECT id::text, index_version FROM chunks WHERE index_version > 0")
    assert {each.chunk_id: each.version for each in listed} == dict(kept)
    assert sorted(dict(kept)) == world.live_ids()
    assert reconcile(parts)[0].sum().differing == 0

    seqs = dict(world.rows("SELECT name, seq FROM documents"))
    assert find("shared") == sorted(seqs.values())
    assert find("deleted") == [seqs["deleted"]] * 2
    assert find("shrunk") == [seqs["shrunk"]] * 2
    assert find("later") == [seqs["another"]]
    assert find("newer") == []
    # And from here on everything goes its way.
    world.work(world.put("kept", "changed", "shared"))
    world.work(world.delete("deleted"))
    assert find("changed") == [seqs["kept"]]
    assert find("deleted") == []
    assert reconcile(parts)[0].sum().differing == 0


def test_a_version_that_is_drawn_again_hides_no_document_that_has_another_number(
    backup: Backup, world: World, search: SearchEngine, index_prefix: str
) -> None:
    world.work(world.put("kept", "kept"))
    backup.copy()
    world.work(world.put("made", "made"))
    world.work(world.put("another", "another"))
    before = list_held(world, "another")

    backup.set_back()
    world.work(world.put("kept", "kept", "more"))  # which takes the version that "made" had
    world.work(world.put("another", "another"))
    # The index has it in this version, but by a number that the next document will get.
    assert list_held(world, "another") == before
    assert world.rows("SELECT index_version FROM chunks WHERE text = 'another'") == [before[1:]]
    assert world.find("another").seq != before[0]

    builder = OpenSearchIndexBuilder(search, index_prefix)
    parts = Parts(engine=backup.engine, index=world.index, builder=builder, queue=FakeChangeQueue())
    assert reconcile(parts)[0].sum().outdated == 1
    assert list_held(world, "another")[0] == world.find("another").seq
    assert reconcile(parts, repairs=False)[0].sum().differing == 0


def list_held(world: World, text: str) -> tuple[int, int]:
    """Returns by which document number, and in which version, the index holds a chunk."""
    rows = world.rows("SELECT id::text FROM chunks WHERE text = :text", text=text)
    listed = world.index.list_chunks(world.dataset.space, None, None, 100)
    [found] = [each for each in listed if each.chunk_id == rows[0][0]]
    return found.document_seq, found.version
