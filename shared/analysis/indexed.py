"""A chunk as PostgreSQL holds it → as the search index does."""

from shared.analysis.analyzer import analyze, pick_keywords
from shared.model import IndexedChunk, Vector, put_heading


def index_chunk(
    *,
    chunk_id: str,
    tenant_id: str,
    dataset_id: str,
    document_seq: int,
    heading: str,
    text: str,
    vector: Vector | None,
    index_version: int,
) -> IndexedChunk:
    """Returns what is written of a chunk; its words are those of heading path and text."""
    words = analyze(put_heading(heading, text))
    return IndexedChunk(
        id=chunk_id,
        tenant_id=tenant_id,
        dataset_id=dataset_id,
        document_seq=document_seq,
        words=" ".join(words),
        keywords=pick_keywords(words),
        vector=vector,
        index_version=index_version,
    )
