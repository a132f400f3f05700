"""Cursors: where a page of a listing ended, as text that callers hand back."""

import base64
import json
from datetime import UTC, datetime
from uuid import UUID

from shared.errors import InvalidRequest
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
