"""The content store as a prefix of an S3 bucket."""

from contextlib import closing
from datetime import timedelta
from functools import cached_property
from typing import Any

from shared.aws import explaining_trouble
from shared.content.keys import is_key, require_key
from shared.errors import ContentMissing, DocumentRefused
from shared.model import SourceObject

TIMEOUT_SECONDS = 10.0
_ATTEMPTS = 3
_STORE = ("the content store", "S3")
_NO_OBJECT = {"NoSuchKey", "404"}  # a HEAD has no body, so its code is the status


class S3ContentStore:
    """A `ContentStore` in a bucket, below a prefix; encrypted as the bucket's default says.

    S3 tells a missing object from a forbidden one only to those that have s3:ListBucket.

    Args:
        timeout: seconds to wait for a silent server, three times in all.
        endpoint_url: another address than the region's own.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        timeout: float = TIMEOUT_SECONDS,
        endpoint_url: str | None = None,
    ) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._timeout = timeout
        self._endpoint_url = endpoint_url

    @cached_property
    def _client(self) -> Any:
        return open_s3(self._timeout, self._endpoint_url)

    def put(self, key: str, data: bytes, media_type: str) -> None:
        """Stores the bytes under the key, replacing what was there."""
        name = self._prefix + require_key(key)
        with explaining_trouble(*_STORE):
            self._client.put_object(
                Bucket=self._bucket, Key=name, Body=data, ContentType=media_type
            )

    def get(self, key: str) -> bytes:
        """Returns the bytes; raises `ContentMissing` where there are none."""
        found = read_object(self._client, self._bucket, self._prefix + key) if is_key(key) else None
        if found is None:
            raise ContentMissing(f"the content store holds nothing under {key!r}")
        return found.data

    def delete(self, key: str) -> None:
        """Forgets the bytes; a key that holds nothing is fine."""
        if is_key(key):
            with explaining_trouble(*_STORE):
                self._client.delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def measure(self, key: str) -> int | None:
        """Returns the size in bytes; None where there are none."""
        if not is_key(key):
            return None
        return measure_object(self._client, self._bucket, self._prefix + key)

    def offer(self, key: str, size: int, valid: timedelta) -> str:
        """Returns a presigned URL that takes so many bytes for the key, by PUT."""
        name = self._prefix + require_key(key)
        with explaining_trouble(*_STORE):
            return str(
                self._client.generate_presigned_url(
                    "put_object",
                    Params={"Bucket": self._bucket, "Key": name, "ContentLength": size},
                    ExpiresIn=int(valid.total_seconds()),
                )
            )


def open_s3(timeout: float, endpoint_url: str | None) -> Any:
    """Returns an S3 client."""
    from boto3.session import Session  # noqa: PLC0415, long to load, and only S3 needs it
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        signature_version="s3v4",  # for URLs the older one is the default, which signs no length
    )
    return Session().client("s3", endpoint_url=endpoint_url, config=config)


def read_object(client: Any, bucket: str, key: str, most: int | None = None) -> SourceObject | None:
    """Returns an object, at most so many bytes of it; None where there is no such object."""
    with explaining_trouble(*_STORE):
        answer = find(client.get_object, bucket, key)
        if answer is None:
            return None
        with closing(answer["Body"]) as body:
            return SourceObject(bytes(body.read(most)), answer.get("ContentType", ""))


def measure_object(client: Any, bucket: str, key: str) -> int | None:
    """Returns an object's size in bytes; None where there is no such object."""
    with explaining_trouble(*_STORE):
        answer = find(client.head_object, bucket, key)
    return None if answer is None else int(answer["ContentLength"])


def find(operation: Any, bucket: str, key: str) -> Any:
    """Returns an operation's answer about an object; None where there is no such object.

    Raises:
        DocumentRefused: it is archived.
    """
    from botocore.exceptions import ClientError  # noqa: PLC0415

    try:
        return operation(Bucket=bucket, Key=key)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _NO_OBJECT:
            return None
        if code == "InvalidObjectState":
            reason = "The object is archived: S3 gives it out only once it is restored."
            raise DocumentRefused("unsupported", reason) from error
        raise
