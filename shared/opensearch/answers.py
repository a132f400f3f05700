"""What the engine answers to searches. Pure: half an answer, or an odd one, is none."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shared.errors import IndexUnavailable
from shared.model import Hit, JsonObject, ListedChunk
from shared.opensearch.queries import BM25
from shared.opensearch.scores import cosine_from_score

_COSINE_DIGITS = 6
"""The engine reckons in float32: what comes after is noise, and would toss a cosine of exactly 0.6
to either side of a threshold of 0.6."""


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise IndexUnavailable("The search index gave an answer that can't be read.") from error


@_reading()
def read_vector_hits(answer: JsonObject, space_type: str) -> list[Hit]:
    """Returns the hits of a vector search; their score is the cosine."""
    hits = []
    for hit in _hits(answer):
        score = _number(hit["_score"])
        cosine = None if score is None else _rounded(cosine_from_score(space_type, score))
        hits.append(Hit(_chunk_id(hit), cosine, cosine, _read_bm25(hit)))
    return sorted(hits, key=_best_first)  # rounding makes ties


def is_crowded(hits: Sequence[Hit], depth: int) -> bool:
    """Tells whether so many hits tie that the graph may have hidden better ones.

    Among copies of one vector the graph has no direction to follow: it stops where `depth` of them
    are found. 3,000 copies of one chunk kept the nearest of all others out of 100 hits.
    """
    ties = Counter(hit.score for hit in hits).most_common(1)
    return bool(ties) and ties[0][1] >= max(2, depth // 10)


@_reading()
def read_hits(answer: JsonObject) -> list[Hit]:
    """Returns the hits of a text or keyword search, with what else they were to bring along."""
    hits = [
        Hit(_chunk_id(hit), _number(hit["_score"]), _read_cosine(hit), _read_bm25(hit))
        for hit in _hits(answer)
    ]
    return sorted(hits, key=_best_first)


def ties_beyond(hits: Sequence[Hit], depth: int, size: int) -> bool:
    """Tells whether the last of `depth` hits ties with ones behind the `size` that were asked."""
    return len(hits) == size and hits[depth - 1].score == hits[-1].score


@_reading()
def read_cosines(answer: JsonObject) -> dict[str, float]:
    """Returns the cosine of each chunk that was found."""
    found = ((_chunk_id(hit), _read_cosine(hit)) for hit in _hits(answer))
    return {chunk_id: cosine for chunk_id, cosine in found if cosine is not None}


@_reading()
def read_listing(answer: JsonObject) -> list[ListedChunk]:
    """Returns the chunks of a listing, also what a hand put in with no id, dataset or document."""
    return [_read_listed(hit) for hit in _hits(answer)]


def _read_listed(hit: Mapping[str, Any]) -> ListedChunk:
    chunk_id, fields = str(hit["sort"][0] or ""), hit.get("fields", {})
    return ListedChunk(
        chunk_id,
        str(fields.get("dataset", [""])[0]),
        int(fields.get("document", [0])[0]),
        int(hit["_version"]),
        None if hit["_id"] == chunk_id else str(hit["_id"]),
    )


@dataclass(frozen=True, slots=True)
class WordCounts:
    """In how many chunks words are: `chunks` have text at all, `holding` maps each known word."""

    chunks: int
    holding: Mapping[str, int]


@_reading()
def read_word_counts(answer: JsonObject) -> WordCounts:
    """Returns the counts; words that no chunk holds are left out."""
    text = answer["term_vectors"].get("text")
    if text is None:  # no words were sent
        return WordCounts(0, {})
    holding = {word: int(seen.get("doc_freq", 0)) for word, seen in text["terms"].items()}
    return WordCounts(max(0, int(text["field_statistics"]["doc_count"])), holding)


def _hits(answer: JsonObject) -> Sequence[Mapping[str, Any]]:
    if answer["timed_out"] or answer["_shards"]["failed"]:
        raise IndexUnavailable("The search index gave only a part of its answer in time.")
    hits: Sequence[Mapping[str, Any]] = answer["hits"]["hits"]
    return hits


def _best_first(hit: Hit) -> tuple[float, str]:
    return (math.inf if hit.score is None else -hit.score, hit.chunk_id)


def _chunk_id(hit: Mapping[str, Any]) -> str:
    chunk_id = hit["sort"][1] if "sort" in hit else hit["fields"]["chunk"][0]
    if not isinstance(chunk_id, str):
        raise TypeError("a chunk id is text")
    return chunk_id


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a score is a finite number")
    return float(value)


def _read_bm25(hit: Mapping[str, Any]) -> float | None:
    return _number(hit["matched_queries"].get(BM25)) if "matched_queries" in hit else None


def _read_cosine(hit: Mapping[str, Any]) -> float | None:
    if "cosine" not in hit.get("fields", {}):
        return None
    cosine = _number(hit["fields"]["cosine"][0])
    return None if cosine is None else _rounded(cosine)


def _rounded(cosine: float) -> float:
    return round(cosine, _COSINE_DIGITS)
