"""Vectors of a collection, kept by what was embedded: no text is embedded twice in a home."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import batched
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from shared.model import Vector
from shared.opensearch.mapping import alias_name
from shared.ports import Embedder

BATCH = 32
"""Texts between two commits: what is lost when a run is broken off."""

QUERY_SECONDS = 60.0


class Role(StrEnum):
    """What a text is: models embed the two differently."""

    PASSAGE = "passage"
    QUERY = "query"


class KeptVectors:
    """One embedder's vectors in a file. Closed by leaving the block.

    Args:
        folder: of the file, which is named for the embedding space.
        embedder: for what is not there yet.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._file = sqlite3.connect(folder / f"{alias_name('vectors', embedder.space)}.sqlite")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL)"
            " WITHOUT ROWID"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def fill(self, role: Role, texts: Iterable[str], advance: Callable[[int], None]) -> None:
        """Embeds what is not there yet; `advance` hears how many texts are done."""
        for batch in batched(texts, BATCH, strict=False):
            missing = [text for text in dict.fromkeys(batch) if not self._holds(role, text)]
            vectors = self._embed(role, missing)
            with self._file:
                self._file.executemany(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                    [
                        (_digest(role, text), np.asarray(vector, "<f4").tobytes())
                        for text, vector in zip(missing, vectors, strict=True)
                    ],
                )
            advance(len(batch))

    def find(self, role: Role, text: str) -> Vector:
        """Returns the vector of a text; `KeyError` where it was never embedded."""
        row = self._file.execute(
            "SELECT vector FROM vectors WHERE digest = ?", [_digest(role, text)]
        ).fetchone()
        if row is None:
            raise KeyError(text)
        return np.frombuffer(row[0], "<f4")

    def _holds(self, role: Role, text: str) -> bool:
        found = self._file.execute("SELECT 1 FROM vectors WHERE digest = ?", [_digest(role, text)])
        return found.fetchone() is not None

    def _embed(self, role: Role, texts: Sequence[str]) -> Sequence[Vector]:
        if role is Role.PASSAGE:
            return self._embedder.embed_passages(texts) if texts else []
        return [self._embedder.embed_query(text, QUERY_SECONDS) for text in texts]


def _digest(role: Role, text: str) -> bytes:
    return hashlib.sha256(f"{role}\0{text}".encode()).digest()
