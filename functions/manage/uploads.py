"""Uploads: content that goes to the content store by a URL of its own, past the API's limit.

Whoever may write is given a URL, puts the bytes there, and then sends the document with the
upload's id in place of its content. What was put stays for a day, so that the same request again
finds it.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin
from uuid import UUID, uuid4

from functions.manage.check import check_size
from functions.manage.parts import Parts
from shared.content.keys import UPLOADS
from shared.errors import ContentMissing, InvalidRequest
from shared.model import Dataset

VALID = timedelta(minutes=15)
"""How long a URL takes what is put there."""


def offer_upload(parts: Parts, dataset: Dataset, size: int, base_url: str) -> dict[str, Any]:
    """Returns an upload of so many bytes: its id, and the request that puts them.

    Raises:
        TooLarge: a document may not have so many.
    """
    check_size(size, parts.max_bytes, "/size")
    upload_id = str(uuid4())
    expires_at = datetime.now(UTC) + VALID
    url = parts.content.offer(_name_key(dataset, upload_id), size, VALID)
    return {
        "upload_id": upload_id,
        "method": "PUT",
        "url": urljoin(base_url, url),  # a folder's is a path of this API
        "size": size,
        "expires_at": expires_at,
    }


def fetch_upload(parts: Parts, dataset: Dataset, upload_id: str, pointer: str) -> bytes:
    """Returns what was put; raises `InvalidRequest` where that is nothing, or `TooLarge`."""
    key = _name_key(dataset, _parse_id(upload_id, pointer))
    size = parts.content.measure(key)
    check_size(size or 0, parts.max_bytes, pointer)
    try:
        return parts.content.get(key)
    except ContentMissing as error:
        raise InvalidRequest.at(pointer, "nothing was put there, or over a day ago") from error


def name_upload(upload_id: str) -> str:
    """Returns what the document of an upload is known by where it has no external id."""
    return f"upload {UUID(upload_id)}"


def _name_key(dataset: Dataset, upload_id: str) -> str:
    return f"{UPLOADS}/{dataset.tenant_id}/{dataset.id}/{upload_id}"


def _parse_id(upload_id: str, pointer: str) -> str:
    try:
        return str(UUID(upload_id))
    except ValueError as error:
        raise InvalidRequest.at(pointer, "is no id of an upload") from error
