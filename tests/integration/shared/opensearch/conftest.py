from collections.abc import Iterator

import pytest

from shared.opensearch.client import SearchEngine, connect
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch


@pytest.fixture
def engine(opensearch_url: str) -> Iterator[SearchEngine]:
    engine = connect(opensearch_url)
    yield engine
    engine.close()


@pytest.fixture
def index(engine: SearchEngine, index_prefix: str) -> OpenSearchChunkIndex:
    return OpenSearchChunkIndex(engine, index_prefix)


@pytest.fixture
def search(engine: SearchEngine, index_prefix: str) -> OpenSearchChunkSearch:
    return OpenSearchChunkSearch(engine, index_prefix)
