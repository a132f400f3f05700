"""A search index in memory: both ports over one dict, held to the same contract as the real one."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from shared.errors import DocumentRefused, IndexUnavailable
from shared.model import (
    AllDocuments,
    EmbeddingSpace,
    Hit,
    IndexedChunk,
    ListedChunk,
    SearchScope,
    Vector,
)

K1, B = 1.2, 0.75


class Building:
    """What is being built to take the place of another; without that, nothing."""

    def __init__(self) -> None:
        self.chunks: dict[EmbeddingSpace, InMemoryChunks] = {}

    @property
    def building(self) -> "Building":
        raise NotImplementedError

    def ensure(self, space: EmbeddingSpace) -> None:
        pass

    def upsert(self, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        for chunk in chunks:
            _check_vector(space, chunk.vector)
        if space in self.chunks:
            self.chunks[space].upsert(space, chunks)

    def delete(self, space: EmbeddingSpace, chunk_ids: Sequence[str], index_version: int) -> None:
        if space in self.chunks:
            self.chunks[space].delete(space, chunk_ids, index_version)

    def refresh(self, space: EmbeddingSpace) -> None:
        if space in self.chunks:
            self.chunks[space].refresh(space)

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> Sequence[ListedChunk]:
        built = self.chunks.get(space)
        return [] if built is None else built.list_chunks(space, after, until, limit)

    def delete_seen(self, space: EmbeddingSpace, seen: Sequence[ListedChunk]) -> None:
        if space in self.chunks:
            self.chunks[space].delete_seen(space, seen)


class InMemoryBuilder:
    """An `IndexBuilder` of an index in memory."""

    def __init__(self, index: "InMemoryChunks") -> None:
        self._index = index
        self._live: set[EmbeddingSpace] = set()  # and not finished

    def begin(self, space: EmbeddingSpace) -> None:
        if space in self._live:
            self.finish(space)
        if space not in self._index.building.chunks:
            another = self._index.make_another()
            InMemoryChunks.ensure(another, space)
            self._index.building.chunks[space] = another

    def put_live(self, space: EmbeddingSpace) -> None:
        try:
            built = self._index.building.chunks[space]
        except KeyError:
            raise IndexUnavailable from None
        self._index.take_over(space, built)
        self._live.add(space)

    def finish(self, space: EmbeddingSpace) -> None:
        self._live.discard(space)
        self._index.building.chunks.pop(space, None)

    def list_leftovers(self, spaces: Sequence[EmbeddingSpace]) -> list[str]:
        begun = self._index.building.chunks
        return sorted(f"{space.model}-next" for space in spaces if space in begun)


class InMemoryChunks:
    """Searches by looking at every chunk; what is written shows after `refresh`."""

    def __init__(self) -> None:
        self._written: dict[EmbeddingSpace, dict[str, IndexedChunk]] = {}
        self._visible: dict[EmbeddingSpace, dict[str, IndexedChunk]] = {}
        self._versions: dict[tuple[EmbeddingSpace, str], int] = {}
        self.building = Building()

    def ensure(self, space: EmbeddingSpace) -> None:
        self._written.setdefault(space, {})
        self._visible.setdefault(space, {})

    def upsert(self, space: EmbeddingSpace, chunks: Sequence[IndexedChunk]) -> None:
        for chunk in chunks:
            _check_vector(space, chunk.vector)
        self.ensure(space)
        for chunk in chunks:
            if self._wins(space, chunk.id, chunk.index_version):
                self._written[space][chunk.id] = chunk

    def delete(self, space: EmbeddingSpace, chunk_ids: Sequence[str], index_version: int) -> None:
        if space in self._written:
            for chunk_id in chunk_ids:
                if self._wins(space, chunk_id, index_version):
                    self._written[space].pop(chunk_id, None)

    def refresh(self, space: EmbeddingSpace) -> None:
        if space in self._written:
            self._visible[space] = dict(self._written[space])

    def list_chunks(
        self, space: EmbeddingSpace, after: str | None, until: str | None, limit: int
    ) -> list[ListedChunk]:
        return [
            ListedChunk(chunk.id, chunk.dataset_id, chunk.document_seq, chunk.index_version)
            for _, chunk in sorted(self._visible.get(space, {}).items())
            if (after is None or chunk.id > after) and (until is None or chunk.id <= until)
        ][:limit]

    def delete_seen(self, space: EmbeddingSpace, seen: Sequence[ListedChunk]) -> None:
        for each in seen:
            if self._versions.get((space, each.chunk_id), -1) <= each.version:
                self._versions[space, each.chunk_id] = each.version
                self._written.get(space, {}).pop(each.chunk_id, None)

    def search_vector(
        self,
        scope: SearchScope,
        vector: Vector,
        depth: int,
        timeout: float,
        words: Sequence[str] = (),
    ) -> list[Hit]:
        del timeout
        bm25 = self._bm25(scope.space, words)
        found = [(chunk, _cosine(chunk, vector)) for chunk in self._permitted(scope)]
        return _best([Hit(chunk.id, cosine, cosine, bm25(chunk)) for chunk, cosine in found], depth)

    def search_text(
        self,
        scope: SearchScope,
        words: Sequence[str],
        depth: int,
        timeout: float,
        vector: Vector | None = None,
    ) -> list[Hit]:
        del timeout
        score = self._bm25(scope.space, words)
        return _best(
            [
                Hit(chunk.id, bm25, None if vector is None else _cosine(chunk, vector))
                for chunk in self._permitted(scope)
                if (bm25 := score(chunk)) is not None
            ],
            depth,
        )

    def search_keywords(
        self,
        scope: SearchScope,
        keywords: Sequence[str],
        depth: int,
        timeout: float,
        words: Sequence[str] = (),
    ) -> list[Hit]:
        del timeout
        bm25 = self._bm25(scope.space, words)
        shown = self._shown(scope.space).values()
        holding = Counter(keyword for chunk in shown for keyword in set(chunk.keywords))
        found = ((chunk, set(keywords) & set(chunk.keywords)) for chunk in self._permitted(scope))
        return _best(
            [
                Hit(
                    chunk.id,
                    sum(_idf(len(shown), holding[word]) for word in matches),
                    bm25=bm25(chunk),
                )
                for chunk, matches in found
                if matches
            ],
            depth,
        )

    def find_cosines(
        self, scope: SearchScope, chunk_ids: Sequence[str], vector: Vector, timeout: float
    ) -> dict[str, float]:
        del timeout
        permitted = self._permitted(scope)
        return {chunk.id: _cosine(chunk, vector) for chunk in permitted if chunk.id in chunk_ids}

    def pick_rarest(
        self, space: EmbeddingSpace, words: Sequence[str], most: int, timeout: float
    ) -> list[str]:
        del timeout
        holding = self._holding(space)
        return sorted(set(words), key=lambda word: (holding[word] or math.inf, word))[:most]

    def sum_idf(self, space: EmbeddingSpace, words: Sequence[str], timeout: float) -> float:
        del timeout
        holding, chunks = self._holding(space), len(self._shown(space))
        return sum(_idf(chunks, holding[word]) for word in words)

    def ping(self, timeout: float) -> None:
        del timeout

    def make_another(self) -> "InMemoryChunks":
        """Returns an empty index of the same kind."""
        return type(self)()

    def take_over(self, space: EmbeddingSpace, other: "InMemoryChunks") -> None:
        """From now on this is the other index, of one space."""
        self._written[space] = other._written.setdefault(space, {})
        self._visible[space] = other._visible.setdefault(space, {})
        self._versions = {
            **{key: version for key, version in self._versions.items() if key[0] != space},
            **other._versions,
        }

    def _wins(self, space: EmbeddingSpace, chunk_id: str, version: int) -> bool:
        if version <= self._versions.get((space, chunk_id), -1):
            return False
        self._versions[space, chunk_id] = version
        return True

    def _shown(self, space: EmbeddingSpace) -> dict[str, IndexedChunk]:
        try:
            return self._visible[space]
        except KeyError:
            raise IndexUnavailable from None

    def _permitted(self, scope: SearchScope) -> list[IndexedChunk]:
        allowed = dict(scope.datasets)
        return [
            chunk
            for chunk in self._shown(scope.space).values()
            if chunk.tenant_id == scope.tenant_id
            and chunk.dataset_id in allowed
            and _allows(allowed[chunk.dataset_id], chunk)
            and chunk.document_seq not in scope.hidden
            and chunk.id not in scope.disabled
        ]

    def _holding(self, space: EmbeddingSpace) -> Counter[str]:
        shown = self._shown(space).values()
        return Counter(word for chunk in shown for word in set(chunk.words.split()))

    def _bm25(
        self, space: EmbeddingSpace, words: Sequence[str]
    ) -> Callable[[IndexedChunk], float | None]:
        shown, holding = self._shown(space).values(), self._holding(space)
        lengths = [len(chunk.words.split()) for chunk in shown]
        average = sum(lengths) / max(1, len(lengths))

        def score(chunk: IndexedChunk) -> float | None:
            tokens = chunk.words.split()
            if not set(words) & set(tokens):
                return None
            damping = K1 * (1 - B + B * len(tokens) / average)
            return sum(
                (K1 + 1) * _idf(len(shown), holding[word]) * times / (times + damping)
                for word in words
                for times in [tokens.count(word)]
            )

        return score


def _allows(allowed: object, chunk: IndexedChunk) -> bool:
    return isinstance(allowed, AllDocuments) or chunk.document_seq in getattr(allowed, "seqs", ())


def _best(hits: Iterable[Hit], depth: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-(hit.score or 0.0), hit.chunk_id))[:depth]


def _idf(chunks: int, holding: int) -> float:
    return math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))


def _cosine(chunk: IndexedChunk, vector: Vector) -> float:
    assert chunk.vector is not None
    norms = np.linalg.norm(chunk.vector) * np.linalg.norm(vector)
    return round(float(chunk.vector @ vector / norms), 6)


def _check_vector(space: EmbeddingSpace, vector: Vector | None) -> None:
    if space.has_vectors and (
        vector is None
        or vector.shape != (space.dimension,)
        or not np.isfinite(vector).all()
        or not vector.any()
    ):
        raise DocumentRefused("embedding", "the vector does not fit the space")
