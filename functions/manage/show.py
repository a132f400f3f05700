"""Documents and chunks as the API shows them."""

from dataclasses import asdict
from typing import Any

from shared.model import Document
from shared.postgres.chunks import LiveChunk

_SHOWN = (
    "id", "dataset_id", "external_id", "name", "title", "source", "uploader", "version",
    "live_version", "indexing_status", "error", "error_code", "enabled", "archived", "metadata",
    "media_type", "encoding", "guessed", "left_out", "chunking", "created_at", "updated_at",
    "completed_at", "deleted_at",
)  # fmt: skip


def show_document(document: Document) -> dict[str, Any]:
    """Returns the public fields of a document."""
    return {name: getattr(document, name) for name in _SHOWN}


def show_chunk(chunk: LiveChunk) -> dict[str, Any]:
    """Returns the public fields of a chunk; `content` is its text."""
    shown = asdict(chunk)
    shown["content"] = shown.pop("text")
    return shown
