"""Bulk requests: how writes become bounded bodies, and what each item's answer means. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

import orjson

from shared.errors import IndexUnavailable
from shared.model import IndexedChunk, JsonObject
from shared.opensearch.client import INDEX_CLOSED, INDEX_MISSING
from shared.opensearch.mapping import chunk_source

ALIAS_ONLY = {"require_alias": "true"}
"""Of every request: a bulk to a name that nothing has would make an index, its mapping guessed."""

MOST_WRITES = 500
MOST_BYTES = 5_000_000

# A bulk with nothing but externally versioned deletes creates a missing index, whatever
# require_alias says, because a delete does not carry that flag. An update does, and holds for the
# whole request; of a document that is never there it changes nothing.
_GUARD = b'{"update":{"_id":"guard"}}\n{"doc":{}}\n'


@dataclass(frozen=True, slots=True)
class Write:
    """One chunk's upsert or delete, as its lines of the request."""

    chunk_id: str
    is_delete: bool
    lines: bytes


class Outcome(Enum):
    """What became of a write."""

    DONE = auto()
    BUSY = auto()
    INDEX_MISSING = auto()
    REFUSED = auto()  # for ever: the chunk itself is wrong
    FAILED = auto()


BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Of an item or of the whole request: try again."""

_BY_STATUS: Mapping[int, Outcome] = {
    HTTPStatus.CONFLICT: Outcome.DONE,  # this version, or a newer one, is there
    **dict.fromkeys(BUSY, Outcome.BUSY),
    HTTPStatus.BAD_REQUEST: Outcome.REFUSED,
    HTTPStatus.CONTENT_TOO_LARGE: Outcome.REFUSED,
}

_OF_THE_ENGINE = {
    INDEX_CLOSED,
    "knn_circuit_breaker_exception",  # too little memory for more vectors
    "illegal_state_exception",  # the plugin of vectors is switched off
}
"""Errors, or causes of one, that come with status 400 and are no chunk's: they pass."""


@dataclass(frozen=True, slots=True)
class Result:
    """A write and what became of it; `reason` is the engine's, empty where there is none."""

    write: Write
    outcome: Outcome
    reason: str


def upsert(chunk: IndexedChunk) -> Write:
    """Returns the write of a chunk under its own version."""
    action = {"index": _external(chunk.id, chunk.index_version)}
    return Write(chunk.id, False, _line(action) + _line(chunk_source(chunk)))


def delete(chunk_id: str, index_version: int) -> Write:
    """Returns the write that deletes a chunk under a version."""
    return Write(chunk_id, True, _line({"delete": _external(chunk_id, index_version)}))


def delete_seen(chunk_id: str, version: int) -> Write:
    """Returns the write that deletes a chunk, unless it has a newer version than this by then."""
    action = _external(chunk_id, version) | {"version_type": "external_gte"}
    return Write(chunk_id, True, _line({"delete": action}))


def split(writes: Sequence[Write]) -> Iterator[list[Write]]:
    """Cuts writes into requests of at most 500 writes and 5 MB; a larger write goes alone."""
    batch: list[Write] = []
    size = 0
    for write in writes:
        if batch and (len(batch) == MOST_WRITES or size + len(write.lines) > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(write)
        size += len(write.lines)
    if batch:
        yield batch


def bulk_body(writes: Sequence[Write]) -> bytes:
    """Returns the body of one request."""
    guard = _GUARD if _needs_guard(writes) else b""
    return guard + b"".join(write.lines for write in writes)


def read_results(answer: JsonObject, writes: Sequence[Write]) -> list[Result]:
    """Returns what became of each write.

    Raises:
        IndexUnavailable: when the answer does not tell of every write.
    """
    try:
        items = [next(iter(item.values())) for item in answer["items"]]
        if _needs_guard(writes):
            items = items[1:]
        return [_read_result(write, item) for write, item in zip(writes, items, strict=True)]
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise IndexUnavailable("The search index gave an answer that can't be read.") from error


def _read_result(write: Write, item: Mapping[str, Any]) -> Result:
    status, error = int(item["status"]), item.get("error")
    if error is None:
        return Result(write, _outcome(write, status, ""), "")
    kind = str(error["type"])
    cause = str((error.get("caused_by") or error)["type"])
    outcome = _outcome(write, status, kind)
    if outcome is Outcome.REFUSED:
        # A delete holds nothing that could be wrong.
        if write.is_delete or not _OF_THE_ENGINE.isdisjoint((kind, cause)):
            return Result(write, Outcome.FAILED, cause)
        return Result(write, outcome, f"{kind}: {error.get('reason')}")
    return Result(write, outcome, kind)


def _outcome(write: Write, status: int, kind: str) -> Outcome:
    if status == HTTPStatus.NOT_FOUND:
        if write.is_delete:
            return Outcome.DONE
        return Outcome.INDEX_MISSING if kind == INDEX_MISSING else Outcome.FAILED
    if not kind and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Outcome.DONE
    return _BY_STATUS.get(status, Outcome.FAILED)


def _needs_guard(writes: Sequence[Write]) -> bool:
    return any(write.is_delete for write in writes)


def _external(chunk_id: str, index_version: int) -> dict[str, Any]:
    return {"_id": chunk_id, "version": index_version, "version_type": "external"}


def _line(value: Mapping[str, Any]) -> bytes:
    # A float32 takes half as many digits as the float64 that Python would make of it.
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
