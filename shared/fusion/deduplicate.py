"""Each channel's ranked list into one list of candidates."""

import hashlib
import math
from collections.abc import Mapping, Sequence

from shared.model import Candidate, Channel, Hit, Standing


def deduplicate(lists: Mapping[Channel, Sequence[Hit]]) -> list[Candidate]:
    """Returns one candidate for each chunk that any channel found, in the order of first sight.

    Within a channel a chunk found again keeps its best rank and its best score, and those behind
    it move up. A score that is missing or not finite is unknown, never a reason to drop the hit.
    Takes O(n) for n hits.
    """
    standings: dict[str, dict[Channel, Standing]] = {}
    cosines: dict[str, float | None] = {}
    bm25: dict[str, float | None] = {}
    for channel, hits in lists.items():
        found = 0
        for hit in hits:
            channels = standings.setdefault(hit.chunk_id, {})
            if (earlier := channels.get(channel)) is None:
                found += 1
                channels[channel] = Standing(found, _read(hit.score))
            else:
                best = _pick_best(earlier.score, _read(hit.score))
                channels[channel] = Standing(earlier.rank, best)
            nearness = hit.score if channel is Channel.VECTOR and hit.cosine is None else hit.cosine
            cosines[hit.chunk_id] = _pick_best(cosines.get(hit.chunk_id), _read(nearness))
            wording = hit.score if channel is Channel.TEXT else hit.bm25
            bm25[hit.chunk_id] = _pick_best(bm25.get(hit.chunk_id), _read(wording))
    return [Candidate(id, channels, cosines[id], bm25[id]) for id, channels in standings.items()]


def identify(source: str, text: str) -> str:
    """Returns an id for a hit that came without one: the same for the same text of a source."""
    return hashlib.sha256(f"{len(source)}:{source}{text}".encode()).hexdigest()


def _read(score: float | None) -> float | None:
    return score if score is not None and math.isfinite(score) else None


def _pick_best(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
