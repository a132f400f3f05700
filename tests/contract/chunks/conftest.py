import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from shared.model import EmbeddingSpace
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import connect
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from shared.ports import ChunkIndex, ChunkSearch, IndexBuilder
from tests.fakes.chunks import InMemoryBuilder, InMemoryChunks


@dataclass(frozen=True)
class Chunks:
    """The ports over the same index."""

    index: ChunkIndex
    search: ChunkSearch
    builder: IndexBuilder


@pytest.fixture(scope="module", params=["fake", "real"])
def chunks(request: pytest.FixtureRequest) -> Iterator[Chunks]:
    if request.param == "fake":
        fake = InMemoryChunks()
        yield Chunks(fake, fake, InMemoryBuilder(fake))
        return
    prefix = request.getfixturevalue("module_index_prefix")
    engine = connect(request.getfixturevalue("opensearch_url"))
    yield Chunks(
        OpenSearchChunkIndex(engine, prefix),
        OpenSearchChunkSearch(engine, prefix),
        OpenSearchIndexBuilder(engine, prefix),
    )
    engine.close()


@pytest.fixture
def new_space() -> Callable[[int], EmbeddingSpace]:
    """Makes spaces that nothing was written to yet, by their dimension."""
    return lambda dimension: EmbeddingSpace("given", uuid.uuid4().hex, dimension)
