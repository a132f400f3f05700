"""What a write of documents answers: 202 once it is safe; with `wait=true` 201 once it shows."""

import time
from dataclasses import replace
from typing import Any

from fastapi import Response

from functions.manage.parts import Parts
from functions.manage.show import show_documents
from functions.manage.wait import is_settled, wait_for
from shared.model import Document

ACCEPTED, SETTLED = 202, 201


def choose_end(parts: Parts, wait: bool) -> float | None:
    """Returns until when a request may wait, on the monotonic clock; None where it does not."""
    return time.monotonic() + parts.wait_seconds if wait else None


def answer_one(
    parts: Parts, written: Document, end: float | None, response: Response
) -> dict[str, Any]:
    """Returns the answer to one write; its status goes onto the response."""
    [shown] = answer(parts, [written], end, response)
    del shown["status"]  # which the response itself has
    return shown


def answer(
    parts: Parts, written: list[Document], end: float | None, response: Response
) -> list[dict[str, Any]]:
    """Returns the answers to several writes, each with a status of its own."""
    if end is None:
        return [each | {"status": ACCEPTED} for each in show_documents(parts.engine, written)]
    now = [wait_for(parts.engine, each, end) for each in written]
    settled = [
        is_settled(after, before.version) for before, after in zip(written, now, strict=True)
    ]
    if settled and all(settled):
        response.status_code = SETTLED
    seen = [_as_written(before, after) for before, after in zip(written, now, strict=True)]
    return [
        each | {"status": SETTLED if done else ACCEPTED}
        for each, done in zip(show_documents(parts.engine, seen), settled, strict=True)
    ]


def _as_written(written: Document, now: Document) -> Document:
    """Returns what was written, as it is now; what others wrote since is no answer to this."""
    if now.version == written.version:
        return now
    return replace(written, live_version=now.live_version, indexing_status=now.indexing_status)
