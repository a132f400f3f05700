import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from shared.model import EmbeddingSpace
from shared.opensearch.client import connect
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from shared.ports import ChunkIndex, ChunkSearch
from tests.fakes.chunks import InMemoryChunks


@dataclass(frozen=True)
class Chunks:
    """Both ports over the same index."""

    index: ChunkIndex
    search: ChunkSearch


@pytest.fixture(scope="module", params=["fake", "real"])
def chunks(request: pytest.FixtureRequest) -> Iterator[Chunks]:
    if request.param == "fake":
        fake = InMemoryChunks()
        yield Chunks(fake, fake)
        return
    prefix = request.getfixturevalue("module_index_prefix")
    engine = connect(request.getfixturevalue("opensearch_url"))
    yield Chunks(OpenSearchChunkIndex(engine, prefix), OpenSearchChunkSearch(engine, prefix))
    engine.close()


@pytest.fixture
def new_space() -> Callable[[int], EmbeddingSpace]:
    """Makes spaces that nothing was written to yet, by their dimension."""
    return lambda dimension: EmbeddingSpace("given", uuid.uuid4().hex, dimension)
