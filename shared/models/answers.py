"""What model servers answer, checked before anything is done with it. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from shared.errors import EmbedderFailed, EmbedderRefused, Unavailable
from shared.model import Vector
from shared.models.vectors import VectorRefused, as_vector, unit

_EXCERPT = 300
_REASONS = {
    401: "it refuses our credentials",
    403: "it refuses our credentials, or they may not use this model",
    404: "it does not know this model or address",
    408: "it took too long",
    424: "the model itself failed",
    429: "its rate limit is reached",
}
_SERVER_ERROR = 500
_WORDS = ("error", "message", "detail")
_ABOUT_THE_INPUT = {400, 413, 422}


def explain_status(
    model: str, status: int, message: str, failure: type[Unavailable] = EmbedderFailed
) -> Unavailable:
    """Returns the error of an answer that is no success.

    The server's own message is quoted only where it is about the request: where it is about
    credentials, it names keys or roles.
    """
    reason = _REASONS.get(status)
    if reason is None and status >= _SERVER_ERROR:
        reason = "it is out of order for now"
    if reason is None:
        reason = f"it refuses the request: {message[:_EXCERPT]}" if message else "it is no answer"
    if failure is EmbedderFailed and status in _ABOUT_THE_INPUT:
        failure = EmbedderRefused
    return failure(f"the server of {model} answered {status}: {reason}")


def read_message(data: bytes) -> str:
    """Returns the server's own words; "" where there are none.

    OpenAI has {"error": {"message": ...}}, TEI {"error": ...}, Cohere {"message": ...} and Jina
    {"detail": ...}.
    """
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    while isinstance(answer, dict):
        answer = next((answer[key] for key in _WORDS if key in answer), None)
    return answer if isinstance(answer, str) else ""


def parse_object(
    model: str, data: bytes, failure: type[Unavailable] = EmbedderFailed
) -> dict[str, Any]:
    """Returns the JSON object of an answer.

    Raises:
        Unavailable: as `failure`: it is something else.
    """
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise failure(f"the server of {model} answered what is no JSON") from error
    if not isinstance(answer, dict):
        raise failure(f"the server of {model} answered JSON that is not an object")
    return answer


def read_vectors(model: str, rows: object, count: int, dimension: int) -> list[Vector]:
    """Returns the unit vectors of an answer's rows, one a text.

    Raises:
        EmbedderRefused: there are more or fewer rows than texts, or a row is no vector.
    """
    if not isinstance(rows, list) or len(rows) != count:
        found = len(rows) if isinstance(rows, list) else "no"
        raise EmbedderRefused(f"{model} gave {found} vectors for {count} texts")
    try:
        return [unit(as_vector(row, dimension, f"vector {n}")) for n, row in enumerate(rows)]
    except VectorRefused as error:
        raise EmbedderRefused(f"{model} gave no usable vectors: {error}") from error


def order_rows(model: str, items: object, count: int) -> Sequence[object]:
    """Returns the `embedding` of each item in the order of their `index`.

    Raises:
        EmbedderRefused: not every index from 0 to count - 1 is there exactly once.
    """
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise EmbedderRefused(f"{model} gave no list of embeddings")
    rows = {item.get("index"): item.get("embedding") for item in items if _is_index(item)}
    if len(items) != count or rows.keys() != set(range(count)):
        raise EmbedderRefused(f"{model} gave {len(items)} vectors for {count} texts, or some twice")
    return [rows[n] for n in range(count)]


def _is_index(item: dict[str, Any]) -> bool:
    return type(item.get("index")) is int
