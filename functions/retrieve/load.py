"""K, the keyword score, of every candidate."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from functions.retrieve.query import Query
from functions.retrieve.search import Found
from shared.fusion.bm25 import bm25_scores
from shared.fusion.fuse import FusionMethod
from shared.fusion.keywords import dify_keywords, dify_scores
from shared.model import Candidate, Channel, SearchMethod
from shared.postgres.engine import read
from shared.postgres.retrieval import load_keywords


def load_keyword_scores(
    query: Query, found: Found, candidates: Sequence[Candidate], engine: Engine, timeout: float
) -> NDArray[np.float64] | None:
    """Returns K of each candidate; None where the query's method has no use for it.

    A full-text search has it from the engine's BM25; the others compare the kept keywords, which
    one statement loads.
    """
    if query.search_method is SearchMethod.FULL_TEXT:
        raw = [candidate.channels[Channel.TEXT].score for candidate in candidates]
        return bm25_scores(raw, found.idf_sum or 0.0)
    hybrid = query.search_method is SearchMethod.HYBRID
    weighs = hybrid and query.plan.method is FusionMethod.WEIGHTED_SCORE
    if not weighs and query.search_method is not SearchMethod.KEYWORD:
        return None
    wanted = dify_keywords(query.text)
    with read(engine, timeout) as connection:
        kept = load_keywords(connection, [candidate.chunk_id for candidate in candidates])
    return dify_scores(wanted, kept)
