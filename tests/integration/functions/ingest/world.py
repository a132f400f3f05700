"""Documents over the real PostgreSQL and an index in memory whose every call can be interrupted."""

import json
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sqlalchemy import Engine, text

from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
from shared.errors import WinnowError
from shared.model import (
    CHUNKS_MEDIA_TYPE,
    Change,
    Chunking,
    Document,
    EmbeddingSpace,
    IndexedChunk,
    IndexingTechnique,
    ListedChunk,
    Vector,
)
from shared.ports import ContentStore
from shared.postgres import outbox
from shared.postgres.datasets import create_dataset
from shared.postgres.documents import (
    DocumentWrite,
    change_document,
    delete_document,
    find_document,
)
from shared.postgres.engine import read, transaction
from shared.postgres.intake import accept_document, name_content, name_document
from shared.settings import DEFAULT_TENANT
from tests.fakes.chunks import InMemoryChunks
from tests.fakes.content import FakeContentStore
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.objects import FakeObjects

READER = FileReader(Options())
"""One for all worlds: its processes stay."""


class Crash(RuntimeError):
    """The process dies here: nobody handles this."""


@dataclass
class Calls:
    """Counts calls of a kind, and runs what was planned for a call before or after it."""

    names: list[str] = field(default_factory=list)
    before: dict[int, Callable[[], None]] = field(default_factory=dict)
    after: dict[int, Callable[[], None]] = field(default_factory=dict)

    def pass_through[T](self, name: str, call: Callable[[], T]) -> T:
        number = len(self.names)
        self.names.append(name)
        self.before.pop(number, lambda: None)()
        result = call()
        self.after.pop(number, lambda: None)()
        return result

    def plan(self, steps: int, action: Callable[[], None], *, after: bool = False) -> None:
        """Runs the action at the call that comes after so many others."""
        (self.after if after else self.before)[len(self.names) + steps] = action

    def forget(self) -> None:
        self.before.clear()
        self.after.clear()


class WatchedChunks(InMemoryChunks):
    """An index that tells of each write."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self.calls = calls
        self.written: list[str] = []
        self.deleted: list[str] = []

    def make_another(self) -> "WatchedChunks":
        return WatchedChunks(self.calls)

    def ensure(self, space: EmbeddingSpace) -> None:
        if space in self._written:  # as the fake itself does before each upsert
            return
        self.calls.pass_through("ensure", lambda: super(WatchedChunks, self).ensure(space))

    def upsert(self, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        def call() -> None:
            super(WatchedChunks, self).upsert(space, chunks)
            self.written += [chunk.id for chunk in chunks]

        self.calls.pass_through("upsert", call)

    def delete(self, space: EmbeddingSpace, chunk_ids: Sequence[str], index_version: int) -> None:
        def call() -> None:
            super(WatchedChunks, self).delete(space, chunk_ids, index_version)
            self.deleted += chunk_ids

        self.calls.pass_through("delete", call)

    def refresh(self, space: EmbeddingSpace) -> None:
        self.calls.pass_through("refresh", lambda: super(WatchedChunks, self).refresh(space))

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> list[ListedChunk]:
        listed = super().list_chunks
        return self.calls.pass_through("list", lambda: listed(space, after, until, limit))

    def delete_seen(self, space: EmbeddingSpace, seen: Sequence[ListedChunk]) -> None:
        def call() -> None:
            super(WatchedChunks, self).delete_seen(space, seen)
            self.deleted += [each.chunk_id for each in seen]

        self.calls.pass_through("delete", call)

    def list_ids(self, dataset_id: str) -> list[str]:
        return sorted(
            chunk.id
            for visible in self._visible.values()
            for chunk in visible.values()
            if chunk.dataset_id == dataset_id
        )


class WatchedEmbedder(FakeEmbedder):
    def __init__(self, space: EmbeddingSpace, calls: Calls) -> None:
        super().__init__(space)
        self.calls = calls

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self.calls.pass_through(
            "embed", lambda: super(type(self), self).embed_passages(texts)
        )


class World:
    """One dataset, its documents by the names a, b, c …, and all that was ever sent of them."""

    def __init__(
        self,
        engine: Engine,
        make_index: Callable[[Calls], Any] = WatchedChunks,
        content: ContentStore | None = None,
    ) -> None:
        self.engine = engine
        self.calls = Calls()
        self.index = make_index(self.calls)
        self.content: Any = content or FakeContentStore()
        self.objects = FakeObjects()
        space = EmbeddingSpace("openai_compatible", uuid.uuid4().hex, 4)
        self.embedder = WatchedEmbedder(space, self.calls)
        with transaction(engine) as connection:
            self.dataset = create_dataset(
                connection,
                tenant_id=DEFAULT_TENANT,
                name=uuid.uuid4().hex,
                description="",
                indexing_technique=IndexingTechnique.HIGH_QUALITY,
                space=space,
                retrieval={},
                chunking=Chunking(),
            )
        self.parts = Parts(
            engine=engine,
            index=self.index,
            content=self.content,
            embedder_for=lambda _: self.embedder,
            objects=self.objects,
            reader=READER,
            max_bytes=1_000,
        )
        self.sent: list[Change] = []

    def id_of(self, name: str) -> str:
        return name_document(self.dataset.id, name)

    def put(self, name: str, *chunks: str, **more: Any) -> Change | None:
        """Stores a document of these chunks; nothing is ingested yet."""
        data = json.dumps({"chunks": [{"text": each} for each in chunks]}).encode()
        return self.put_bytes(name, data, CHUNKS_MEDIA_TYPE, **more)

    def put_bytes(self, name: str, data: bytes, media_type: str, **more: Any) -> Change | None:
        id_, digest = self.id_of(name), sha256(data).hexdigest()
        write: dict[str, Any] = {
            "id": id_,
            "tenant_id": DEFAULT_TENANT,
            "dataset_id": self.dataset.id,
            "external_id": name,
            "source": None,
            "name": name,
            "uploader": "tests",
            "metadata": {},
            "content_key": name_content(self.dataset, id_),
            "content_hash": digest,
            "media_type": media_type,
        }
        written = DocumentWrite(**(write | more))
        _, change = accept_document(self.engine, self.content, written, data)
        return self._note(change)

    def change(self, which: str, **values: Any) -> Document:
        with transaction(self.engine) as connection:
            return change_document(connection, DEFAULT_TENANT, self.id_of(which), values)

    def delete(self, name: str, **more: Any) -> Change | None:
        with transaction(self.engine) as connection:
            _, change = delete_document(connection, DEFAULT_TENANT, self.id_of(name), **more)
        return self._note(change)

    def _note(self, change: Change | None) -> Change | None:
        if change is not None:
            self.sent.append(change)
        return change

    def work(self, change: Change | None) -> None:
        """Ingests a change as a worker does that others do not keep off."""
        assert change is not None
        self.end_leases()
        ingest(change, self.parts)

    def settle(self) -> None:
        """Ingests until the outbox has nothing left."""
        self.calls.forget()
        for _ in range(20):
            waiting = self.list_waiting()
            for change in waiting:
                with suppress(WinnowError):
                    ingest(change, self.parts)
            if not waiting:
                return
        raise AssertionError("the outbox never empties")

    def list_waiting(self) -> list[Change]:
        self.end_leases()
        with read(self.engine) as connection:
            found = outbox.find_available(connection, 1000)
        return [change for change in found if change.dataset_id == self.dataset.id]

    def end_leases(self) -> None:
        with transaction(self.engine) as connection:
            connection.execute(
                text("UPDATE outbox SET available_at = now() WHERE dataset_id = :id"),
                {"id": self.dataset.id},
            )

    def find(self, name: str) -> Document:
        with read(self.engine) as connection:
            found = find_document(connection, DEFAULT_TENANT, self.id_of(name))
        assert found is not None
        return found

    def rows(self, statement: str, **parameters: Any) -> list[Any]:
        with read(self.engine) as connection:
            parameters |= {"dataset": self.dataset.id}
            return [tuple(row) for row in connection.execute(text(statement), parameters)]

    def wait_for_lock(self) -> None:
        """Returns once somebody waits for a lock of the database."""
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND :dataset != ''"
        )
        for _ in range(1000):
            if self.rows(waiting) != [(0,)]:
                return
            time.sleep(0.01)
        raise AssertionError("nobody waits")

    def live_ids(self) -> list[str]:
        """The chunks that PostgreSQL says the index must hold, sorted."""
        return [row[0] for row in self.rows(f"SELECT m.chunk_id::text {_LIVE} ORDER BY 1")]

    def live_texts(self, name: str) -> list[str]:
        """A document's chunks in order, as queries would find them."""
        rows = self.rows(
            f"SELECT c.text {_LIVE} AND d.id = :id ORDER BY m.position",
            id=self.id_of(name),
        )
        return [row[0] for row in rows]

    def counts(self) -> tuple[int, int]:
        [row] = self.rows("SELECT searchable_count, hidden_count FROM datasets WHERE id = :dataset")
        return row[0], row[1]

    def recount(self) -> tuple[int, int]:
        """The same counts, from the documents' rows."""
        [row] = self.rows(
            "SELECT count(*) FILTER (WHERE seen), count(*) FILTER (WHERE NOT seen) FROM ("
            " SELECT enabled AND NOT archived AND deleted_at IS NULL AS seen FROM documents"
            " WHERE dataset_id = :dataset AND live_version IS NOT NULL) live"
        )
        return row[0], row[1]


_LIVE = (
    "FROM documents d JOIN chunk_memberships m ON m.document_id = d.id"
    " JOIN chunks c ON c.id = m.chunk_id WHERE d.dataset_id = :dataset"
    " AND m.from_version <= d.live_version"
    " AND (m.until_version IS NULL OR m.until_version > d.live_version)"
)
