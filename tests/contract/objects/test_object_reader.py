"""What every reader of users' objects does: the fake, S3."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from boto3.session import Session

from shared.content.objects import S3ObjectReader
from shared.model import SourceObject
from shared.ports import ObjectReader
from tests.fakes.objects import FakeObjects

KEY = "datasets/退款 a+b.md"


@dataclass(frozen=True)
class Bucket:
    """A bucket, and how users put something into it: a key, bytes and their declared type."""

    name: str
    objects: ObjectReader
    put: Callable[[str, bytes, str], object]


def make_fake(_request: pytest.FixtureRequest) -> Bucket:
    fake = FakeObjects()
    return Bucket("b", fake, lambda key, data, type_: fake.put(key, data, media_type=type_))


def make_s3(request: pytest.FixtureRequest) -> Bucket:
    url = request.getfixturevalue("aws")
    client = Session().client("s3", endpoint_url=url)
    name = f"bucket-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=name)
    return Bucket(
        name,
        S3ObjectReader(endpoint_url=url),
        lambda key, data, type_: client.put_object(
            Bucket=name, Key=key, Body=data, ContentType=type_
        ),
    )


@pytest.fixture(params=[make_fake, make_s3], ids=["fake", "s3"])
def bucket(request: pytest.FixtureRequest) -> Bucket:
    make: Callable[[pytest.FixtureRequest], Bucket] = request.param
    return make(request)


def test_an_object_is_measured_and_read_with_what_its_sender_says_it_is(bucket: Bucket) -> None:
    bucket.put(KEY, b"# Refunds", "text/markdown; charset=gb18030")
    assert bucket.objects.size(bucket.name, KEY) == 9
    found = bucket.objects.read(bucket.name, KEY, 100)
    assert found == SourceObject(b"# Refunds", "text/markdown; charset=gb18030")


def test_what_is_not_there_is_none(bucket: Bucket) -> None:
    assert bucket.objects.size(bucket.name, "gone") is None
    assert bucket.objects.read(bucket.name, "gone", 100) is None


@pytest.mark.parametrize(("most", "length"), [(0, 1), (8, 9), (9, 10), (10, 10), (11, 10)])
def test_no_more_is_read_than_shows_that_it_is_too_large(
    bucket: Bucket, most: int, length: int
) -> None:
    bucket.put("grown", b"0123456789", "text/plain")
    found = bucket.objects.read(bucket.name, "grown", most)
    assert found is not None
    assert found.data == b"0123456789"[:length]


def test_an_empty_object_is_there(bucket: Bucket) -> None:
    bucket.put("empty", b"", "text/plain")
    assert bucket.objects.size(bucket.name, "empty") == 0
    assert bucket.objects.read(bucket.name, "empty", 100) == SourceObject(b"", "text/plain")
