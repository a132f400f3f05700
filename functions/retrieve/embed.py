"""The query's vector: of its words, of its image, or of both."""

from functions.retrieve.query import Query
from shared.errors import EmbedderFailed
from shared.model import Vector
from shared.ports import Embedder, ImageEmbedder


def embed_query(query: Query, embedder: Embedder, timeout: float) -> Vector:
    """Returns the query's vector within `timeout` seconds.

    Raises:
        EmbedderFailed: the embedder has none.
    """
    if query.image is None:
        return embedder.embed_query(query.text, timeout)
    if not isinstance(embedder, ImageEmbedder):  # parsing asked the same of its space
        raise EmbedderFailed("this dataset's embedding model reads no images")
    return embedder.embed_image(query.image, query.text, timeout)
