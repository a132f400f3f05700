"""The adapter of the port `ObjectReader`: what users put into S3 buckets."""

from functools import cached_property
from typing import Any

from shared.content.s3 import TIMEOUT_SECONDS, measure_object, open_s3, read_object
from shared.model import SourceObject


class S3ObjectReader:
    """Reads objects of any bucket that the process may read."""

    def __init__(
        self, *, timeout: float = TIMEOUT_SECONDS, endpoint_url: str | None = None
    ) -> None:
        self._timeout = timeout
        self._endpoint_url = endpoint_url

    @cached_property
    def _client(self) -> Any:
        return open_s3(self._timeout, self._endpoint_url)

    def size(self, bucket: str, key: str) -> int | None:
        """Returns an object's size in bytes; None where there is no such object."""
        return measure_object(self._client, bucket, key)

    def read(self, bucket: str, key: str, most: int) -> SourceObject | None:
        """Returns an object; None where there is no such object.

        Of one that is larger than `most` it returns the first `most` + 1 bytes.
        """
        return read_object(self._client, bucket, key, most + 1)
