"""How large an answer may be: what Lambda can send, with room for what it adds."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

MOST_ANSWER_BYTES = 5_000_000


def write_json(answer: Mapping[str, Any]) -> bytes:
    """Returns the JSON of an answer, in UTF-8, unescaped."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def keep_fitting(
    records: Iterable[Mapping[str, Any]], rest: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Returns the first records that an answer holds beside the rest of it.

    None is written, or even asked for, behind the first that has no room.
    """
    left = MOST_ANSWER_BYTES - len(write_json(rest))
    kept = []
    for record in records:
        left -= len(write_json(record)) + len(",")
        if left < 0:
            break
        kept.append(record)
    return kept
