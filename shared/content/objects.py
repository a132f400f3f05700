"""What users put into buckets of their own."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from shared.content.s3 import TIMEOUT_SECONDS, explaining_trouble, find, open_s3, read_object


class S3Objects:
    """An `ObjectReader` of every bucket that the function may read.

    Args:
        timeout: seconds to wait for a silent server, three times in all.
        endpoint_url: another address than the region's own.
    """

    def __init__(self, timeout: float = TIMEOUT_SECONDS, endpoint_url: str | None = None) -> None:
        self._open: Callable[[], Any] = lambda: open_s3(timeout, endpoint_url)

    @cached_property
    def _client(self) -> Any:
        return self._open()

    def size(self, bucket: str, key: str) -> int | None:
        """Returns an object's size in bytes; None where there is no such object."""
        with explaining_trouble(bucket):
            head = find(self._client.head_object, bucket, key)
        return None if head is None else int(head["ContentLength"])

    def read(self, bucket: str, key: str) -> bytes | None:
        """Returns an object's bytes; None where there is no such object."""
        return read_object(self._client, bucket, key)
