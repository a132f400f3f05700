"""Documents and chunks as the API shows them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Engine

from shared.model import Document
from shared.postgres.engine import read
from shared.postgres.live_chunks import ChunkCounts, LiveChunk, count_chunks

_SHOWN = (
    "id", "dataset_id", "external_id", "name", "title", "source", "uploader", "version",
    "live_version", "indexing_status", "error", "error_code", "enabled", "archived", "metadata",
    "media_type", "content_hash", "encoding", "guessed", "left_out", "chunking", "created_at",
    "updated_at", "status_since", "completed_at", "deleted_at",
)  # fmt: skip


def show_documents(engine: Engine, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Returns the public fields of documents, each with the counts of its chunks."""
    if not documents:
        return []
    with read(engine) as connection:
        counts = count_chunks(connection, [document.id for document in documents])
    return [_show(each, counts.get(each.id, ChunkCounts())) for each in documents]


def show_document(engine: Engine, document: Document) -> dict[str, Any]:
    """Returns the public fields of one document."""
    return show_documents(engine, [document])[0]


def _show(document: Document, counts: ChunkCounts) -> dict[str, Any]:
    shown = {name: getattr(document, name) for name in _SHOWN}
    return shown | {"chunk_counts": asdict(counts)}


def show_chunk(chunk: LiveChunk) -> dict[str, Any]:
    """Returns the public fields of a chunk; `content` is its text."""
    shown = asdict(chunk)
    shown["content"] = shown.pop("text")
    return shown
