"""10,000 chunks on both real engines, torn in five ways: one run repairs all."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.report import Tally
from shared.analysis.indexed import index_chunk
from shared.model import (
    Chunking,
    Dataset,
    EmbeddingSpace,
    IndexedChunk,
    IndexingTechnique,
    ListedChunk,
)
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine, connect
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.mapping import alias_name
from shared.postgres.datasets import create_dataset
from shared.postgres.engine import read, transaction
from shared.postgres.standings import list_standings, read_contents
from shared.settings import DEFAULT_TENANT
from tests.fakes.queue import FakeChangeQueue

CHUNKS, DOCUMENTS, PAGE = 10_000, 100, 5_000
TORN = CHUNKS // 10
"""In each way."""

SPACE = EmbeddingSpace("given", "torn", 8)


@pytest.fixture
def search(opensearch_url: str) -> Iterator[SearchEngine]:
    engine = connect(opensearch_url, timeout=30)
    yield engine
    engine.close()


@pytest.fixture
def parts(empty: Engine, search: SearchEngine, index_prefix: str) -> Parts:
    index = OpenSearchChunkIndex(search, index_prefix)
    builder = OpenSearchIndexBuilder(search, index_prefix)
    return Parts(engine=empty, index=index, builder=builder, queue=FakeChangeQueue())


@pytest.fixture
def dataset(parts: Parts) -> Dataset:
    """A hundred documents of a hundred chunks, in both stores."""
    with transaction(parts.engine) as connection:
        dataset = create_dataset(
            connection,
            tenant_id=DEFAULT_TENANT,
            name="torn",
            description="",
            indexing_technique=IndexingTechnique.HIGH_QUALITY,
            space=SPACE,
            retrieval={},
            chunking=Chunking(),
        )
        values = {"tenant": DEFAULT_TENANT, "dataset": dataset.id, "documents": DOCUMENTS}
        connection.execute(_DOCUMENTS, values)
        connection.execute(_CHUNKS, values | {"each": CHUNKS // DOCUMENTS})
        connection.execute(_MEMBERSHIPS)
    write_all(parts)
    return dataset


def write_all(parts: Parts) -> None:
    for each in list_all(parts):
        parts.index.upsert(SPACE, each)
    parts.index.refresh(SPACE)


def list_all(parts: Parts) -> Iterator[list[IndexedChunk]]:
    after = None
    while True:
        with read(parts.engine) as connection:
            page = list_standings(connection, SPACE, after, None, 2_000)
            contents = read_contents(connection, [each.chunk_id for each in page])
        if not page:
            return
        yield [index_chunk(**(each._asdict() | {"index_version": 1})) for each in contents]
        after = page[-1].chunk_id


def list_index(parts: Parts) -> list[ListedChunk]:
    parts.index.refresh(SPACE)
    first = list(parts.index.list_chunks(SPACE, None, None, PAGE))
    while True:
        page = parts.index.list_chunks(SPACE, first[-1].chunk_id, None, PAGE)
        first += page
        if not page:
            return first


def tear(parts: Parts) -> dict[str, list[str]]:
    """Tears a tenth of the chunks in each way, and returns their ids by way."""
    with read(parts.engine) as connection:
        ids = [
            row[0]
            for row in connection.execute(
                text("SELECT id::text FROM chunks ORDER BY md5(id::text)")
            )
        ]
    ways = ("lost", "unknown", "left", "behind", "ahead")
    torn = {way: ids[n * TORN : (n + 1) * TORN] for n, way in enumerate(ways)}
    parts.index.delete(SPACE, torn["lost"], 1_000)  # under a version that nobody remembers
    with transaction(parts.engine) as connection:
        forget = text("DELETE FROM chunks WHERE id::text = ANY(:ids)")
        connection.execute(forget, {"ids": torn["unknown"]})
        leave = text(
            "UPDATE chunk_memberships SET until_version = 1 WHERE chunk_id::text = ANY(:ids)"
        )
        connection.execute(leave, {"ids": torn["left"]})
        behind = text("UPDATE chunks SET index_version = 7 WHERE id::text = ANY(:ids)")
        connection.execute(behind, {"ids": torn["behind"]})
    with read(parts.engine) as connection:
        contents = read_contents(connection, torn["ahead"])
    newer = [
        index_chunk(**(each._asdict() | {"text": "wrong", "index_version": 5_000}))
        for each in contents
    ]
    parts.index.upsert(SPACE, newer)
    parts.index.refresh(SPACE)
    return torn


def test_one_run_repairs_ten_thousand_chunks_that_were_torn_in_five_ways(
    parts: Parts, search: SearchEngine, dataset: Dataset, index_prefix: str
) -> None:
    torn = tear(parts)
    report, place = reconcile(parts)
    assert place is None
    left = CHUNKS - 2 * TORN
    assert report.datasets[dataset.id] == Tally(
        documents=DOCUMENTS,
        chunks=left,
        indexed=left,
        missing=TORN,
        orphaned=2 * TORN,
        outdated=2 * TORN,
    )
    with read(parts.engine) as connection:
        rows = connection.execute(
            text("SELECT id::text, index_version FROM chunks WHERE index_version IS NOT NULL")
        )
        kept = {row[0]: row[1] for row in rows}
    assert {each.chunk_id: each.version for each in list_index(parts)} == kept
    assert len(kept) == left
    assert not kept.keys() & {*torn["unknown"], *torn["left"]}
    wrong = json.dumps({"query": {"term": {"text": "wrong"}}})
    found = search.request("POST", f"/{alias_name(index_prefix, SPACE)}/_count", body=wrong)
    assert found["count"] == 0
    before = list_index(parts)
    again, _ = reconcile(parts)
    assert again.datasets[dataset.id] == Tally(documents=DOCUMENTS, chunks=left, indexed=left)
    assert list_index(parts) == before


_DOCUMENTS = text(
    """
    INSERT INTO documents (id, tenant_id, dataset_id, name, uploader, version, live_version,
        index_version, indexing_status, filter_values, updated_at)
    SELECT md5('d' || n)::uuid, :tenant, :dataset, 'd' || n, 'tests', 1, 1, 1, 'completed', '{}',
        now()
    FROM generate_series(1, :documents) n
    """
)
_CHUNKS = text(
    """
    INSERT INTO chunks (id, document_id, text, heading, keywords, vector, index_version)
    SELECT md5(d.id::text || n)::uuid, d.id, 'words of chunk ' || n || ' in ' || d.name, '', '',
        decode('0000803f' || repeat('00', 28), 'hex'), 1
    FROM documents d, generate_series(1, :each) n
    """
)
_MEMBERSHIPS = text(
    """
    INSERT INTO chunk_memberships (chunk_id, from_version, document_id, position)
    SELECT id, 1, document_id, 1 FROM chunks
    """
)
