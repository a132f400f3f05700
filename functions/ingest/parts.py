"""What ingest works with; `handler.py` builds it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from functions.ingest.reader import FileReader
from shared.model import EmbeddingSpace
from shared.ports import ChunkIndex, ContentStore, Embedder, ObjectReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The clients and limits of the ingest function.

    Attributes:
        embedder_for: returns the embedder of a space; None where every chunk brings its vector.
        objects: reads what users put into buckets.
        reader: reads files that are more than text.
        max_bytes: the largest document that is read.
    """

    engine: Engine
    index: ChunkIndex
    content: ContentStore
    embedder_for: Callable[[EmbeddingSpace], Embedder | None]
    objects: ObjectReader
    reader: FileReader
    max_bytes: int
