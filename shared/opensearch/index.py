"""The adapter of the port `ChunkIndex`."""

import json
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus

import numpy as np

from shared.errors import DocumentRefused, IndexUnavailable
from shared.model import EmbeddingSpace, IndexedChunk, ListedChunk
from shared.opensearch import bulk, queries
from shared.opensearch.answers import read_listing
from shared.opensearch.bulk import Outcome, Result, Write
from shared.opensearch.client import EngineRefused, SearchEngine
from shared.opensearch.mapping import alias_name, building_name, index_body, index_name
from shared.opensearch.refresh import SharedRefresh
from shared.opensearch.start import find_newest, plain_index, refuse_serverless

_PAUSES = (0.0, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each try of a bulk that the engine was too busy for, give or take a half."""

_WHOLE = {"allow_partial_search_results": "false"}


class OpenSearchChunkIndex:
    """Writes chunks to the index of their embedding space, always through its alias."""

    def __init__(
        self, engine: SearchEngine, prefix: str, *, shards: int = 1, replicas: int = 0
    ) -> None:
        self._engine = engine
        self._prefix = prefix
        self._shards = shards
        self._replicas = replicas
        self._refreshes: defaultdict[str, SharedRefresh] = defaultdict(SharedRefresh)

    @cached_property
    def building(self) -> "OpenSearchChunkIndex":
        """What is being built to take its place; where nothing is, writes to it do nothing."""
        return _BuildingChunkIndex(self._engine, self._prefix)

    def ensure(self, space: EmbeddingSpace) -> None:
        """Makes the index of a space and its alias by our own mapping, if they are missing.

        Asks each time: an index deleted by hand comes back with the next write.

        Raises:
            ConfigurationError: when an index has the alias's name, or the engine is Serverless.
        """
        alias = self._name(space)
        if not self._has(alias):
            refuse_serverless(self._engine, self._prefix)
            self._create(alias, space)

    def upsert(self, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        """Writes chunks, each under its own index_version as external version.

        Raises:
            DocumentRefused: for a vector that does not fit the space, before anything is written,
                or for a chunk that the engine will never take.
        """
        for chunk in chunks:
            _check_vector(space, chunk)
        self._write(space, [bulk.upsert(chunk) for chunk in chunks])

    def delete(self, space: EmbeddingSpace, chunk_ids: Sequence[str], index_version: int) -> None:
        """Deletes chunks under an external version. No ids: nothing is deleted."""
        self._write(space, [bulk.delete(chunk_id, index_version) for chunk_id in chunk_ids])

    def refresh(self, space: EmbeddingSpace) -> None:
        """Makes what was written visible to searches; where there is no index there is nothing."""
        alias = self._name(space)
        self._refreshes[alias].run(lambda: self._refresh(alias))

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> Sequence[ListedChunk]:
        """Returns what searches see, by chunk id: the first `limit` after one, up to another.

        The engine gives 10,000 at most.
        """
        body = json.dumps(queries.listing_body(after, until, limit))
        path = f"/{self._name(space)}/_search"
        try:
            answer = self._engine.request("POST", path, body=body, params=_WHOLE)
        except EngineRefused as refused:
            if refused.is_missing_index:
                return []
            raise
        return read_listing(answer)

    def delete_seen(self, space: EmbeddingSpace, seen: Sequence[ListedChunk]) -> None:
        """Deletes chunks that still have the version they were seen with; newer ones stay."""
        self._write(space, [_delete_seen(each) for each in seen])

    def _name(self, space: EmbeddingSpace) -> str:
        return alias_name(self._prefix, space)

    def _refresh(self, alias: str) -> None:
        try:
            self._engine.request("POST", f"/{alias}/_refresh")
        except EngineRefused as refused:
            if not refused.is_missing_index:
                raise

    def _has(self, alias: str) -> bool:
        try:
            self._engine.request("GET", f"/_alias/{alias}")
        except EngineRefused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True

    def _create(self, alias: str, space: EmbeddingSpace) -> None:
        body = index_body(alias, space, self._shards, self._replicas)
        newest = find_newest(self._engine, alias)
        try:
            if newest is None:
                self._engine.request("PUT", f"/{index_name(alias)}", body=json.dumps(body))
            else:  # the alias alone was taken away
                live = json.dumps(body["aliases"][alias])
                self._engine.request("PUT", f"/{newest}/_alias/{alias}", body=live)
        except EngineRefused as refused:
            if refused.kind == "invalid_alias_name_exception":
                raise plain_index(alias) from refused
            if refused.kind != "resource_already_exists_exception":
                raise
            # Another process was quicker, and made the alias with it.

    def _write(self, space: EmbeddingSpace, writes: Sequence[Write]) -> None:
        for batch in bulk.split(writes):
            self._write_batch(space, batch)

    def _write_batch(self, space: EmbeddingSpace, writes: list[Write]) -> None:
        alias, is_ensured = self._name(space), False
        for pause in _PAUSES:
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  jitter is no secret
            results = self._send(alias, writes)
            _check(results)
            writes = [result.write for result in results if result.outcome is not Outcome.DONE]
            if not writes:
                return
            if any(result.outcome is Outcome.INDEX_MISSING for result in results):
                if is_ensured:
                    break
                if not self._make_missing(space):
                    return
                is_ensured = True
        raise IndexUnavailable("The search index did not take every chunk; try again.")

    def _make_missing(self, space: EmbeddingSpace) -> bool:
        """Makes the index that a write did not find; False where the write has no place."""
        self.ensure(space)
        return True

    def _send(self, alias: str, writes: Sequence[Write]) -> list[Result]:
        try:
            answer = self._engine.request(
                "POST", f"/{alias}/_bulk", body=bulk.bulk_body(writes), params=bulk.ALIAS_ONLY
            )
        except EngineRefused as refused:
            if refused.status in bulk.BUSY:
                return [Result(write, Outcome.BUSY, refused.kind) for write in writes]
            if refused.status == HTTPStatus.CONTENT_TOO_LARGE:
                return self._send_less(alias, writes)
            raise
        return bulk.read_results(answer, writes)

    def _send_less(self, alias: str, writes: Sequence[Write]) -> list[Result]:
        """Sends what was too much at once for the engine, or what stands before it, in halves."""
        if len(writes) == 1:
            return [Result(writes[0], Outcome.REFUSED, "it is too large for the search index")]
        middle = len(writes) // 2
        return [
            result
            for half in (writes[:middle], writes[middle:])
            for result in self._send(alias, half)
        ]


class _BuildingChunkIndex(OpenSearchChunkIndex):
    """The index that is being built; only its builder makes one."""

    def ensure(self, space: EmbeddingSpace) -> None:
        """Does nothing."""

    def _name(self, space: EmbeddingSpace) -> str:
        return building_name(super()._name(space))

    def _make_missing(self, space: EmbeddingSpace) -> bool:
        del space
        return False


def _delete_seen(seen: ListedChunk) -> Write:
    return bulk.delete_seen(seen.stored_as or seen.chunk_id, seen.version)


def _check(results: Sequence[Result]) -> None:
    for result in results:
        if result.outcome is Outcome.REFUSED:
            raise DocumentRefused("internal", f"chunk {result.write.chunk_id}: {result.reason}")
        if result.outcome is Outcome.FAILED:
            raise IndexUnavailable(f"The search index could not write a chunk ({result.reason}).")


def _check_vector(space: EmbeddingSpace, chunk: IndexedChunk) -> None:
    if not space.has_vectors:
        return
    if chunk.vector is None or chunk.vector.shape != (space.dimension,):
        raise DocumentRefused(
            "embedding", f"chunk {chunk.id}: a vector of {space.dimension} numbers is needed"
        )
    if not np.isfinite(chunk.vector).all() or not chunk.vector.any():
        raise DocumentRefused(
            "embedding", f"chunk {chunk.id}: its vector has no direction, or is not finite"
        )
