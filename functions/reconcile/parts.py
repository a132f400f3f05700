"""What reconcile works with; `handler.py` builds it."""

from dataclasses import dataclass

from sqlalchemy import Engine

from shared.ports import ChangeQueue, ChunkIndex, IndexBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The clients of the reconcile function.

    Attributes:
        builder: knows the indices that are not live.
        queue: tells ingest of documents that have work to do.
    """

    engine: Engine
    index: ChunkIndex
    builder: IndexBuilder
    queue: ChangeQueue
