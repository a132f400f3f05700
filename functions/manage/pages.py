"""Pages of listings: as much as fits into an answer, and cursors that tell where a page ended."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

from shared.errors import InvalidRequest
from shared.http.bodies import MOST_ANSWER_BYTES
from shared.model import Document


def write_cursor(last: Document) -> str:
    """Returns the cursor after a document."""
    place = json.dumps([last.created_at.isoformat(), last.id]).encode()
    return base64.urlsafe_b64encode(place).decode()


def parse_cursor(cursor: str | None) -> tuple[datetime, str] | None:
    """Returns the (created_at, id) of the last document seen; None at the start."""
    if cursor is None:
        return None
    try:
        created_at, id_ = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        # In UTC, as it was written: another zone may lead out of the years that there are.
        return datetime.fromisoformat(created_at).astimezone(UTC), str(UUID(id_))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidRequest.at("/query/cursor", "is no cursor of this listing") from error


def fit(shown: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Returns the first of a page that fit into one answer: at least one, so that pages go on."""
    sizes = (len(json.dumps(each, default=str, ensure_ascii=False).encode()) for each in shown)
    count = sum(size <= MOST_ANSWER_BYTES for size in accumulate(sizes))
    return shown[: max(count, 1)]
