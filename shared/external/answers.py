"""What external bases answer, read with tolerance: what is missing counts as nothing. Pure."""

import json
import math
from typing import Any

from shared.errors import ExternalFailed, InvalidRequest
from shared.metadata.grammar import is_blank, read_number
from shared.model import ExternalAnswer, ExternalHit
from shared.text import check_text

_MOST_LEVELS = 100
"""Of metadata: deeper objects could be read, and then not be written."""

_MOST_CODE = 999_999
_REASONS = {
    401: "it refuses our key",
    403: "it refuses our key",
    404: "it does not know this address or this knowledge_id",
    429: "its rate limit is reached",
}
_OK, _REDIRECTS, _ERRORS = 200, range(300, 400), range(500, 600)


def read_answer(data: bytes) -> ExternalAnswer:
    """Returns the records of an answer: {"records": [{"content", "score", "title", "metadata"}]}.

    A score that is missing or no number is 0, in text it counts; metadata that is no object is {}.
    A record without text, or with text that is none, is left out and counted.

    Raises:
        ExternalFailed: it is something else.
    """
    try:
        # JSON has no NaN and no infinity, though Python reads and writes them.
        answer = json.loads(data, parse_constant=lambda _: None, parse_float=_read_float)
    except (ValueError, RecursionError) as error:
        raise ExternalFailed("it answered what is no JSON") from error
    records = answer.get("records") if isinstance(answer, dict) else None
    if not isinstance(records, list):
        raise ExternalFailed("it answered no list of records")
    read = [_read_record(each) for each in records]
    hits = [hit for hit in read if hit is not None]
    return ExternalAnswer(hits, len(read) - len(hits))


def explain_status(status: int, data: bytes) -> str | None:
    """Returns why an answer is no success, in our words: its own may hold keys. None if it is."""
    if status == _OK:
        return None
    reason = _REASONS.get(status)
    if reason is None and status in _REDIRECTS:
        reason = "redirects are not followed"
    if reason is None:
        reason = "it is out of order for now" if status in _ERRORS else "it refuses the request"
    code = _read_code(data)
    return f"it answered {status}{'' if code is None else f' (error {code})'}: {reason}"


def _read_code(data: bytes) -> int | None:
    """Returns the number in {"error_code", "error_msg"}."""
    try:
        code = json.loads(data)["error_code"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return code if type(code) is int and abs(code) <= _MOST_CODE else None


def _read_record(record: Any) -> ExternalHit | None:
    content = record.get("content") if isinstance(record, dict) else None
    if not isinstance(content, str) or is_blank(content) or not _is_text(record):
        return None
    title, metadata = record.get("title"), record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    source = metadata.get("source")
    return ExternalHit(
        content=content,
        score=float(read_number(record.get("score")) or 0),
        title=title if isinstance(title, str) else "",
        metadata=metadata,
        source=source if isinstance(source, str) and source else None,
    )


def _is_text(record: dict[str, Any]) -> bool:
    try:
        check_text(record)
    except InvalidRequest:
        return False
    return not _is_deep(record)


def _is_deep(value: Any) -> bool:
    layer = [value]
    for _ in range(_MOST_LEVELS):
        inner = [
            each
            for outer in layer
            for each in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(each, dict | list)
        ]
        if not inner:
            return False
        layer = inner
    return True


def _read_float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
