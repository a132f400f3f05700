"""How many connections queries hold, whatever comes at once."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine
from urllib3.util import parse_url

from shared.content.folder import FolderContentStore
from shared.opensearch.client import connect
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from tests.integration.app import App, build, near
from tests.servers.line import Line, running_line

EXECUTORS = 16


@pytest.fixture
def line(opensearch_url: str) -> Iterator[Line]:
    url = parse_url(opensearch_url)
    with running_line(url.host or "", url.port or 9200) as line:
        yield line


@pytest.fixture
def app(database: Engine, line: Line, index_prefix: str, tmp_path: Path) -> Iterator[App]:
    engine = connect(f"http://127.0.0.1:{line.port}", pool_size=EXECUTORS)
    made = build(
        database,
        OpenSearchChunkIndex(engine, index_prefix),
        OpenSearchChunkSearch(engine, index_prefix),
        FolderContentStore(tmp_path),
        threads=EXECUTORS,
    )
    yield made
    made.retrieve_parts.searcher.pool.close()
    engine.close()


def test_o10_callers_share_as_many_connections_as_there_are_threads(
    app: App, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = app.dataset()
    app.put(dataset, "a", near("words", 0.5))
    caplog.set_level(logging.WARNING)
    caplog.clear()
    with ThreadPoolExecutor(16) as callers:
        found = list(callers.map(lambda _: app.titles(dataset, "words"), range(64)))
    assert found == [["a"]] * 64
    assert [each for each in caplog.messages if "pool" in each.lower()] == []
    assert line.most <= EXECUTORS
    assert line.opened <= EXECUTORS
