"""The image of a query: {"media_type", "data"}, checked by its own first bytes."""

import base64
from collections.abc import Sequence
from typing import Literal

from shared.errors import InvalidRequest
from shared.http.bodies import NEEDS_VECTORS, Body
from shared.model import Dataset, Image, SearchMethod
from shared.models.embedders import reads_images

MOST_ATTACHMENTS = 1
"""Models that read images take one with a query."""

MOST_IMAGE_BYTES = 5 * 1024 * 1024
_MOST_CHARACTERS = -(-MOST_IMAGE_BYTES // 3) * 4


class AttachmentBody(Body):
    """An image, in base64."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str


def read_image(attachments: Sequence[AttachmentBody] | None) -> Image | None:
    """Returns the image that is asked about; None where there is none.

    Raises:
        InvalidRequest: at /attachments/0/data: it is too large, or no image of its media type.
    """
    if not attachments:
        return None
    sent = attachments[0]
    data = _decode(sent.data)
    if len(data) > MOST_IMAGE_BYTES:
        raise _refuse(f"the image is larger than {MOST_IMAGE_BYTES:,} bytes")
    found = _recognise(data)
    if found != sent.media_type:
        detail = "is no png, jpeg, gif or webp" if found is None else f"is {found}"
        raise _refuse(f"{detail}, and not {sent.media_type}")
    return Image(sent.media_type, data)


def check_image(method: SearchMethod, datasets: Sequence[Dataset], *, is_reranked: bool) -> None:
    """Refuses an image that nothing would look at.

    Raises:
        InvalidRequest: at /attachments: an embedding model reads text alone; or the method asks for
            no vectors, or an external base alone is asked, and no reranking model is.
    """
    own = [dataset for dataset in datasets if dataset.external is None]
    if own and method in NEEDS_VECTORS:
        blind = next((each for each in own if not reads_images(each.space)), None)
        who = None if blind is None else f"the embedding model {blind.space.model}"
    elif is_reranked:
        return
    else:
        who = method if own else "an external knowledge base"
    if who is not None:
        raise InvalidRequest.at("/attachments", f"{who} reads no images")


def _decode(data: str) -> bytes:
    if len(data) > _MOST_CHARACTERS:
        raise _refuse(f"the image is larger than {MOST_IMAGE_BYTES:,} bytes")
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise _refuse("is not base64; nothing stands before or between it") from error


def _recognise(data: bytes) -> str | None:
    """Returns the media type that the signature of a file says."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _refuse(detail: str) -> InvalidRequest:
    return InvalidRequest.at("/attachments/0/data", detail)
