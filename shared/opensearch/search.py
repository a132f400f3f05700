"""The adapter of the port `ChunkSearch`."""

import json
import time
import zlib
from collections.abc import Sequence
from math import inf
from typing import Any

from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace, Hit, JsonObject, SearchScope, Vector
from shared.opensearch import answers, queries
from shared.opensearch.answers import WordCounts
from shared.opensearch.client import SearchEngine
from shared.opensearch.mapping import SPACE_TYPE, alias_name
from shared.opensearch.scores import inverse_document_frequency

_SPARE = 32
"""Hits beyond the depth that let ties at the cut be put in order here: they cost next to nothing,
asking again as much as the search."""


class OpenSearchChunkSearch:
    """Searches the index of an embedding space. A space without an index raises.

    Every method raises `IndexUnavailable` where the engine gives no whole answer in time.
    """

    def __init__(self, engine: SearchEngine, prefix: str) -> None:
        self._engine = engine
        self._prefix = prefix

    def search_vector(
        self,
        scope: SearchScope,
        vector: Vector,
        depth: int,
        timeout: float,
        words: Sequence[str] = (),
    ) -> list[Hit]:
        """Returns the nearest chunks; score and cosine are the true cosine, to six digits.

        With `words`, the BM25 of each hit that holds any of them too.
        """
        deadline = time.monotonic() + timeout
        body = queries.vector_body(scope, vector, depth, words)
        hits = answers.read_vector_hits(self._search(scope.space, body, timeout), SPACE_TYPE)
        if not answers.is_crowded(hits, depth):
            return hits
        body = queries.exact_vector_body(scope, vector, depth, words)
        remaining = deadline - time.monotonic()
        try:
            return answers.read_vector_hits(self._search(scope.space, body, remaining), SPACE_TYPE)
        except IndexUnavailable:  # too many to look at in time: what the graph gave is not wrong
            return hits

    def search_text(
        self,
        scope: SearchScope,
        words: Sequence[str],
        depth: int,
        timeout: float,
        vector: Vector | None = None,
    ) -> list[Hit]:
        """Returns chunks that hold any of the words, in BM25 order, with `vector` cosines too.

        The score holds the factor K1 + 1, so it stays below (K1 + 1) · `sum_idf`. The engine
        refuses more than 1,024 distinct words.
        """
        if not words:
            return []
        deadline = time.monotonic() + timeout
        size = depth + _SPARE
        body = queries.text_body(scope, words, size, vector)
        hits = answers.read_hits(self._search(scope.space, body, timeout))
        if answers.ties_beyond(hits, depth, size):
            body = queries.ordered_text_body(scope, words, depth, vector)
            remaining = deadline - time.monotonic()
            hits = answers.read_hits(self._search(scope.space, body, remaining))
        return hits[:depth]

    def search_keywords(
        self,
        scope: SearchScope,
        keywords: Sequence[str],
        depth: int,
        timeout: float,
        words: Sequence[str] = (),
    ) -> list[Hit]:
        """Returns chunks that have any of the keywords, the rarest and most matches first.

        With `words`, the BM25 of each hit that holds any of them too.
        """
        if not keywords:
            return []
        body = queries.keyword_body(scope, keywords, depth, words)
        return answers.read_hits(self._search(scope.space, body, timeout))

    def find_cosines(
        self, scope: SearchScope, chunk_ids: Sequence[str], vector: Vector, timeout: float
    ) -> dict[str, float]:
        """Returns the true cosine, to six digits, of those chunks that the index still holds."""
        if not chunk_ids:
            return {}
        body = queries.cosines_body(scope, chunk_ids, vector)
        return answers.read_cosines(self._search(scope.space, body, timeout))

    def pick_rarest(
        self, space: EmbeddingSpace, words: Sequence[str], most: int, timeout: float
    ) -> list[str]:
        """Returns at most `most` of the distinct words: the rarest first, then by alphabet.

        Words that no chunk holds come last: they find nothing.
        """
        holding = self._count_words(space, words, timeout).holding
        ranked = sorted(set(words), key=lambda word: (holding.get(word, 0) or inf, word))
        return ranked[:most]

    def sum_idf(self, space: EmbeddingSpace, words: Sequence[str], timeout: float) -> float:
        """Returns Σ idf of the words, each as often as it stands there; unknown ones count too."""
        counts = self._count_words(space, words, timeout)
        return sum(
            inverse_document_frequency(counts.chunks, counts.holding.get(word, 0)) for word in words
        )

    def ping(self, timeout: float) -> None:
        """Only finds out whether the engine answers."""
        self._engine.request("GET", "/", timeout=timeout)

    def _count_words(
        self, space: EmbeddingSpace, words: Sequence[str], timeout: float
    ) -> WordCounts:
        body = queries.statistics_body(sorted(set(words)))
        answer = self._engine.request(
            "POST",
            f"/{alias_name(self._prefix, space)}/_termvectors",
            body=json.dumps(body),
            params={"routing": "counts"},  # always the same shard's counts
            timeout=timeout,
        )
        return answers.read_word_counts(answer)

    def _search(self, space: EmbeddingSpace, body: dict[str, Any], timeout: float) -> JsonObject:
        data = json.dumps(body | {"timeout": f"{max(1, round(timeout * 1000))}ms"})
        return self._engine.request(
            "POST",
            f"/{alias_name(self._prefix, space)}/_search",
            body=data,
            params={
                "allow_partial_search_results": "false",
                "include_named_queries_score": "true",
                # The same query asks the same copy of each shard: copies can differ in what they
                # count, and two runs give the same order.
                "preference": str(zlib.crc32(data.encode())),
            },
            timeout=timeout,
        )
