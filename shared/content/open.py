"""Which content store a URL names."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from shared.content.folder import FolderContentStore
from shared.content.s3 import TIMEOUT_SECONDS, S3ContentStore
from shared.errors import ConfigurationError
from shared.ports import ContentStore


def open_content_store(
    url: str, *, timeout: float = TIMEOUT_SECONDS, endpoint_url: str | None = None
) -> ContentStore:
    """Returns the store of s3://bucket/prefix or file:///folder; nothing is opened yet.

    Raises:
        ConfigurationError: the URL is of another kind, or names no bucket or folder.
    """
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"} and parts.path.strip("/"):
        return FolderContentStore(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        prefix = parts.path.strip("/")
        return S3ContentStore(parts.netloc, prefix, timeout=timeout, endpoint_url=endpoint_url)
    raise ConfigurationError(
        f"WINNOW_CONTENT_URL is {url!r}, which is neither s3://bucket/prefix nor file:///folder"
    )
