"""What only S3 has: a prefix, a media type, AWS's refusals, time limits."""

import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3
from boto3.session import Session

from shared.content.s3 import S3ContentStore
from shared.errors import Unavailable
from tests.servers.silence import silent_server


@pytest.fixture
def client(aws: str) -> Any:
    return Session().client("s3", endpoint_url=aws)


@pytest.fixture
def bucket(client: Any) -> str:
    name = f"bucket-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=name)
    return name


def test_objects_lie_below_the_prefix_with_their_media_type(
    aws: str, client: Any, bucket: str
) -> None:
    S3ContentStore(bucket, "raw/v1", endpoint_url=aws).put("t/d/x/1", b"%PDF", "application/pdf")
    found = client.get_object(Bucket=bucket, Key="raw/v1/t/d/x/1")
    assert found["ContentType"] == "application/pdf"
    assert found["Body"].read() == b"%PDF"


def test_without_a_prefix_the_key_is_the_name(aws: str, client: Any, bucket: str) -> None:
    S3ContentStore(bucket, endpoint_url=aws).put("t/d/x/1", b"x", "text/plain")
    assert [each["Key"] for each in client.list_objects_v2(Bucket=bucket)["Contents"]] == [
        "t/d/x/1"
    ]


def test_an_offer_takes_what_is_put_there_and_is_bound_to_its_size(aws: str, bucket: str) -> None:
    store = S3ContentStore(bucket, "raw/v1", endpoint_url=aws)
    url = store.offer("uploads/t/d/1", 4, timedelta(minutes=15))
    signed = parse_qs(urlsplit(url).query)
    assert signed["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert signed["X-Amz-Expires"] == ["900"]
    assert "content-length" in signed["X-Amz-SignedHeaders"][0].split(";")
    with urllib3.PoolManager() as pool:
        assert pool.request("PUT", url, body=b"four").status == 200
    assert store.get("uploads/t/d/1") == b"four"


def test_the_endpoint_may_come_from_the_environment(
    aws: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    store = S3ContentStore(bucket)
    store.put("a", b"x", "text/plain")
    assert store.get("a") == b"x"


def test_a_missing_bucket_is_no_missing_content(aws: str) -> None:
    store = S3ContentStore("no-such-bucket", endpoint_url=aws)
    with pytest.raises(Unavailable, match="can't be used: S3 answered NoSuchBucket") as raised:
        store.get("a")
    assert "no-such-bucket" not in str(raised.value)  # it reaches callers
    with pytest.raises(Unavailable, match="NoSuchBucket"):
        store.put("a", b"x", "text/plain")


def test_o10_a_silent_server_is_left_after_the_time_limit(aws: str) -> None:
    assert aws
    with silent_server() as url:
        store = S3ContentStore("bucket", timeout=0.05, endpoint_url=url)
        with pytest.raises(
            Unavailable, match="the content store can't be reached: ReadTimeoutError"
        ):
            store.get("a")
