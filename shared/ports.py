"""What the functions need from outside.

Each port has one contract suite, which the real adapter and any fake pass.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, runtime_checkable

from shared.model import (
    Change,
    EmbeddingSpace,
    ExternalAnswer,
    ExternalBase,
    ExternalQuestion,
    Hit,
    Image,
    IndexedChunk,
    ListedChunk,
    SearchScope,
    SourceObject,
    Vector,
)


class Embedder(Protocol):
    """Turns text into vectors of one space. Failures raise `EmbedderFailed`."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Returns one unit-length float32 vector a text, in the order of the texts."""
        ...

    def embed_query(self, text: str, timeout: float) -> Vector:
        """Returns the unit-length query vector within `timeout` seconds, or raises."""
        ...


@runtime_checkable
class ImageEmbedder(Embedder, Protocol):
    """An embedder whose space holds images beside text."""

    def embed_image(self, image: Image, text: str, timeout: float) -> Vector:
        """Returns the unit-length vector of an image, or of it and text, as `embed_query` does."""
        ...


class ChatModel(Protocol):
    """Answers in words. Failures raise `ChatModelFailed`."""

    def complete(self, system: str, user: str, timeout: float) -> str:
        """Returns the model's words, never blank, within `timeout` seconds, or raises.

        Args:
            system: what the model is told to do.
            user: what it is to be done with.
            timeout: seconds.
        """
        ...


class Reranker(Protocol):
    """Scores passages by how well they answer a query. Failures raise `RerankerFailed`."""

    @property
    def most_passages(self) -> int:
        """The most passages of one call: what the model takes, or scores in time."""
        ...

    def rerank(self, query: str, passages: Sequence[str], timeout: float) -> Sequence[float]:
        """Returns one score a passage, in their order, within `timeout` seconds, or raises.

        Scores are finite and in 0 to 1. What a model can't take of a long text counts nothing; its
        beginning does. No passages: nothing is asked.
        """
        ...


@runtime_checkable
class ImageReranker(Reranker, Protocol):
    """A reranker that also reads a query's image."""

    def rerank_image(
        self, image: Image, text: str, passages: Sequence[str], timeout: float
    ) -> Sequence[float]:
        """Returns the scores for an image, or for it and text, as `rerank` does."""
        ...


class ChunkSearch(Protocol):
    """Reads the search index. Each call ends within `timeout` seconds or raises `IndexUnavailable`.

    Every method honours the scope before its cut and returns at most `depth` hits, best first, ties
    by chunk id.
    """

    def search_vector(
        self,
        scope: SearchScope,
        vector: Vector,
        depth: int,
        timeout: float,
        words: Sequence[str] = (),
    ) -> Sequence[Hit]:
        """Returns the nearest chunks; score and cosine are the true cosine.

        With `words`, the BM25 of each hit that holds any of them too: what `search_text` gives it.
        """
        ...

    def search_text(
        self,
        scope: SearchScope,
        words: Sequence[str],
        depth: int,
        timeout: float,
        vector: Vector | None = None,
    ) -> Sequence[Hit]:
        """Returns chunks that hold any of the words, in BM25 order.

        With `vector`, each hit's cosine too.
        """
        ...

    def search_keywords(
        self,
        scope: SearchScope,
        keywords: Sequence[str],
        depth: int,
        timeout: float,
        words: Sequence[str] = (),
    ) -> Sequence[Hit]:
        """Returns chunks that have any of the keywords, the rarest and most matches first.

        With `words`, the BM25 of each hit that holds any of them too: what `search_text` gives it.
        """
        ...

    def find_cosines(
        self, scope: SearchScope, chunk_ids: Sequence[str], vector: Vector, timeout: float
    ) -> dict[str, float]:
        """Returns the true cosine of each of these chunks that the index still holds."""
        ...

    def pick_rarest(
        self, space: EmbeddingSpace, words: Sequence[str], most: int, timeout: float
    ) -> Sequence[str]:
        """Returns at most `most` of the distinct words: the rarest first, then by alphabet.

        Words that no chunk holds come last.
        """
        ...

    def sum_idf(self, space: EmbeddingSpace, words: Sequence[str], timeout: float) -> float:
        """Returns Σ idf of the words, each as often as it stands there.

        No text score of these words passes (k1 + 1) times this, with k1 = 1.2.
        """
        ...

    def ping(self, timeout: float) -> None:
        """Only finds out whether it answers."""
        ...


class ChunkIndex(Protocol):
    """Writes the search index. Every item of every answer is checked; failures raise.

    Writing a version that is there already, or deleting what is not there, is success.
    """

    @property
    def building(self) -> "ChunkIndex":
        """What is being built to take its place, of whichever space; see `IndexBuilder`.

        Where nothing is being built, writes to it do nothing, and it holds nothing.
        """
        ...

    def ensure(self, space: EmbeddingSpace) -> None:
        """Makes the index of a space and its alias by our own mapping, if they are missing."""
        ...

    def upsert(self, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        """Writes chunks, each under its own index_version as external version."""
        ...

    def delete(self, space: EmbeddingSpace, chunk_ids: Sequence[str], index_version: int) -> None:
        """Deletes chunks under an external version. No ids: nothing is deleted."""
        ...

    def refresh(self, space: EmbeddingSpace) -> None:
        """Makes what was written visible to searches."""
        ...

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> Sequence[ListedChunk]:
        """Returns what searches see, by chunk id: the first `limit` after one, up to another.

        `until` is included. Where there is no index there is nothing.
        """
        ...

    def delete_seen(self, space: EmbeddingSpace, seen: Sequence[ListedChunk]) -> None:
        """Deletes chunks that still have the version they were seen with; newer ones stay."""
        ...


class IndexBuilder(Protocol):
    """Puts a new index in the place of the one that a space has."""

    def begin(self, space: EmbeddingSpace) -> None:
        """Makes an empty index, which `ChunkIndex.building` writes to from then on.

        One that was begun and not finished is gone on with.
        """
        ...

    def put_live(self, space: EmbeddingSpace) -> None:
        """Leads queries and writes to the index that was built, all at once."""
        ...

    def finish(self, space: EmbeddingSpace) -> None:
        """Nothing is being built any more; deletes what is not live once no query reads it."""
        ...

    def list_leftovers(self, spaces: Sequence[EmbeddingSpace]) -> Sequence[str]:
        """Returns the names of indices of these spaces that are not live."""
        ...


class ExternalSearch(Protocol):
    """Asks knowledge bases that somebody else answers for. Failures raise `ExternalFailed`."""

    def retrieve(
        self, base: ExternalBase, question: ExternalQuestion, timeout: float
    ) -> ExternalAnswer:
        """Returns what the base finds within `timeout` seconds, or raises."""
        ...


class ContentStore(Protocol):
    """Keeps the raw bytes of each document version."""

    def put(self, key: str, data: bytes, media_type: str) -> None:
        """Stores the bytes under a key such as tenant/dataset/document/hash."""
        ...

    def get(self, key: str) -> bytes:
        """Returns the bytes; raises `ContentMissing` where there are none."""
        ...

    def delete(self, key: str) -> None:
        """Forgets the bytes; a key that holds nothing is fine."""
        ...

    def measure(self, key: str) -> int | None:
        """Returns the size in bytes; None where there are none."""
        ...

    def offer(self, key: str, size: int, valid: timedelta) -> str:
        """Returns a URL that takes so many bytes for the key, by PUT, from whoever knows it.

        One without a host is a path of our own API.
        """
        ...


class ObjectReader(Protocol):
    """Reads what users put into buckets, of which events tell."""

    def size(self, bucket: str, key: str) -> int | None:
        """Returns an object's size in bytes; None where there is no such object."""
        ...

    def read(self, bucket: str, key: str, most: int) -> SourceObject | None:
        """Returns an object; None where there is no such object.

        Of one that is larger than `most`, which an earlier `size` can't rule out, it returns the
        first `most` + 1 bytes.

        Raises:
            DocumentRefused: it is there, and can't be read before somebody sees to it.
        """
        ...


class ChangeQueue(Protocol):
    """Tells the ingest function which documents changed. A lost message costs time, never data."""

    def send(self, changes: Sequence[Change]) -> None:
        """Sends the changes, in order, as schema-1 messages."""
        ...
