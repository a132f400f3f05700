"""Answers that are no larger than Lambda can send."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from shared.http.bodies import MOST_ANSWER_BYTES


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
