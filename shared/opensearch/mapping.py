"""How an embedding space's index is named and laid out. Pure."""

import hashlib
import json
import re
from typing import Any

from shared.model import EmbeddingSpace, IndexedChunk
from shared.opensearch.scores import K1, B

SPACE_TYPE = "cosinesimil"
"""How every index compares vectors; `scores.cosine_from_score` reads its scores."""

_SLUG_LENGTH = 60
_HASH_LENGTH = 10


def alias_name(prefix: str, space: EmbeddingSpace) -> str:
    """Returns the alias of a space: a name a person can read, kept apart from all others by a hash.

    For example `winnow-local-bge-small-en-v1-5-384-1f0c37a9d2`.
    """
    identity = json.dumps([space.provider, space.model, space.dimension])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]
    words = re.sub(r"[^a-z0-9]+", "-", f"{space.provider}-{space.model}".lower())
    slug = words[:_SLUG_LENGTH].strip("-")
    return f"{prefix}-{slug}-{space.dimension}-{digest}"


def building_name(alias: str) -> str:
    """Returns the alias of the index that is being built to take the place behind an alias."""
    return f"{alias}-next"


def index_name(alias: str, number: int = 1) -> str:
    """Returns the name of the first index behind an alias, or of a later one."""
    return f"{alias}-{number:06}"


def read_number(alias: str, name: str) -> int | None:
    """Returns the number in an index's name; None where it is none of this alias's."""
    match = re.fullmatch(re.escape(alias) + r"-(\d{6})", name)
    return None if match is None else int(match[1])


def is_alias_name(prefix: str, name: str) -> bool:
    """Tells whether a name is in the form that our aliases have."""
    return re.fullmatch(re.escape(prefix) + r"-.+-\d+-[0-9a-f]{10}", name) is not None


def index_body(alias: str, space: EmbeddingSpace, shards: int, replicas: int) -> dict[str, Any]:
    """Returns settings, mapping and alias of a space's index, all made in one request."""
    return {
        "aliases": {alias: {"is_write_index": True}},
        "settings": {
            "index": {
                "knn": space.has_vectors,
                "number_of_shards": shards,
                "number_of_replicas": replicas,
                # Ingest refreshes when it needs to; this only shows what an interrupted run left.
                "refresh_interval": "60s",
                "similarity": {"default": {"type": "BM25", "k1": K1, "b": B}},
            }
        },
        "mappings": {
            "dynamic": "strict",
            # A vector in _source makes every hit dear, even when it is not asked for.
            "_source": {"excludes": ["vector"]},
            "properties": _properties(space),
        },
    }


def _properties(space: EmbeddingSpace) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "tenant": {"type": "keyword"},
        "dataset": {"type": "keyword"},
        # The document id again, as a column: it breaks ties, and reading it is cheaper than _id.
        "chunk": {"type": "keyword"},
        "document": {"type": "integer"},
        # Our own analyzer made the tokens; no query asks for phrases, so no positions.
        "text": {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
        "keywords": {"type": "keyword", "doc_values": False},
    }
    if space.has_vectors:
        fields["vector"] = {
            "type": "knn_vector",
            "dimension": space.dimension,
            "method": {
                "name": "hnsw",
                "engine": "lucene",
                "space_type": SPACE_TYPE,
                # Links a vector, and candidates looked at while it is linked. With these, 100 hits
                # of 10,000 made-up chunks hold 99.7 % of the true nearest 50, of 6,351 news that
                # resemble each other, 97.9 %; more costs memory and ingest time.
                "parameters": {"m": 16, "ef_construction": 100},
            },
        }
    return fields


def chunk_source(chunk: IndexedChunk) -> dict[str, Any]:
    """Returns a chunk as the index stores it, its vector as an array."""
    source: dict[str, Any] = {
        "tenant": chunk.tenant_id,
        "dataset": chunk.dataset_id,
        "chunk": chunk.id,
        "document": chunk.document_seq,
        "text": chunk.words,
        "keywords": list(chunk.keywords),
    }
    if chunk.vector is not None:
        source["vector"] = chunk.vector
    return source
