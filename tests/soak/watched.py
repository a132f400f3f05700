"""The real search index, whose every call can be interrupted."""

from collections.abc import Sequence

from shared.model import EmbeddingSpace, IndexedChunk, ListedChunk
from shared.opensearch.client import SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from tests.integration.functions.ingest.world import Calls


class WatchedIndex(OpenSearchChunkIndex):
    """Tells of each call before it is made and after it."""

    def __init__(self, engine: SearchEngine, prefix: str, calls: Calls) -> None:
        super().__init__(engine, prefix)
        self.calls = calls

    def ensure(self, space: EmbeddingSpace) -> None:
        self.calls.pass_through("ensure", lambda: super(WatchedIndex, self).ensure(space))

    def upsert(self, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        self.calls.pass_through("upsert", lambda: super(WatchedIndex, self).upsert(space, chunks))

    def delete(self, space: EmbeddingSpace, chunk_ids: Sequence[str], index_version: int) -> None:
        delete = super().delete
        self.calls.pass_through("delete", lambda: delete(space, chunk_ids, index_version))

    def refresh(self, space: EmbeddingSpace) -> None:
        self.calls.pass_through("refresh", lambda: super(WatchedIndex, self).refresh(space))

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> Sequence[ListedChunk]:
        listed = super().list_chunks
        return self.calls.pass_through("list", lambda: listed(space, after, until, limit))

    def delete_seen(self, space: EmbeddingSpace, seen: Sequence[ListedChunk]) -> None:
        self.calls.pass_through(
            "delete_seen", lambda: super(WatchedIndex, self).delete_seen(space, seen)
        )
