"""K, the keyword score, of every candidate."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from functions.retrieve.query import Query
from functions.retrieve.search import Found
from shared.fusion.bm25 import bm25_scores
from shared.fusion.fuse import KeywordScoring
from shared.fusion.keywords import dify_keywords, dify_scores
from shared.model import Candidate
from shared.postgres.engine import read
from shared.postgres.retrieval import load_keywords


class KeptKeywords:
    """The kept keywords of a query's candidates, loaded as their channels answer."""

    def __init__(self, query: Query, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[str, bytes] = {}
        self.is_needed = query.plan.keyword_form is KeywordScoring.DIFY

    def load(self, chunk_ids: Iterable[str], timeout: float) -> None:
        """Loads those that are not there yet, in one statement."""
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in self._kept]
        if not self.is_needed or not missing:
            return
        with read(self._engine, timeout) as connection:
            loaded = load_keywords(connection, missing)
        self._kept.update(zip(missing, loaded, strict=True))

    def find(self, candidates: Sequence[Candidate]) -> list[bytes]:
        """Returns each candidate's, in their order."""
        return [self._kept[candidate.chunk_id] for candidate in candidates]


def load_keyword_scores(
    query: Query,
    found: Found,
    candidates: Sequence[Sequence[Candidate]],
    kept: KeptKeywords,
    timeout: float,
) -> NDArray[np.float64] | None:
    """Returns K of each candidate; None where the query's method has no use for it.

    Its `bm25` form came along with the hits; for `dify` the kept keywords are compared.

    Args:
        query: what is asked.
        found: what the search found.
        candidates: those of each embedding space that was searched.
        kept: keywords that were loaded meanwhile.
        timeout: seconds.
    """
    every = list(chain.from_iterable(candidates))
    if not every:
        return np.zeros(0)
    match query.plan.keyword_form:
        case KeywordScoring.BM25:
            return np.concatenate(
                [
                    bm25_scores([candidate.bm25 for candidate in own], space.idf_sum)
                    for space, own in zip(found.spaces, candidates, strict=True)
                ]
            )
        case KeywordScoring.DIFY:
            kept.load((candidate.chunk_id for candidate in every), timeout)
            return dify_scores(dify_keywords(query.text), kept.find(every))
        case None:
            return None
