"""What every content store does: the fake, the folder, S3."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from boto3.session import Session

from shared.content.folder import FolderContentStore
from shared.content.s3 import S3ContentStore
from shared.errors import ContentMissing
from shared.ports import ContentStore
from tests.fakes.content import FakeContentStore

KEY = "11111111/22222222/33333333/7"
ESCAPES = [
    "../outside",
    "a/../../outside",
    "/etc/passwd",
    "a//b",
    "a/./b",
    "a/",
    "",
    ".",
    "a\\..\\b",
    "a\0b",
    "a\nb",
    "\ud800",
    "x" * 256,
    "/".join(["x" * 200] * 6),
]


def make_fake(_request: pytest.FixtureRequest) -> ContentStore:
    return FakeContentStore()


def make_folder(request: pytest.FixtureRequest) -> ContentStore:
    folder: Path = request.getfixturevalue("tmp_path")
    return FolderContentStore(folder / "content")


def make_s3(request: pytest.FixtureRequest) -> ContentStore:
    url = request.getfixturevalue("aws")
    bucket = f"content-{uuid.uuid4().hex}"
    Session().client("s3", endpoint_url=url).create_bucket(Bucket=bucket)
    return S3ContentStore(bucket, "some/prefix", endpoint_url=url)


@pytest.fixture(params=[make_fake, make_folder, make_s3], ids=["fake", "folder", "s3"])
def store(request: pytest.FixtureRequest) -> ContentStore:
    make: Callable[[pytest.FixtureRequest], ContentStore] = request.param
    return make(request)


@pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 4096], ids=len)
def test_what_was_put_comes_back_byte_for_byte(store: ContentStore, data: bytes) -> None:
    store.put(KEY, data, "application/pdf")
    assert store.get(KEY) == data


def test_a_second_put_replaces_the_first(store: ContentStore) -> None:
    store.put(KEY, b"a long first text", "text/plain")
    store.put(KEY, b"second", "text/plain")
    assert store.get(KEY) == b"second"


def test_keys_do_not_touch_each_other(store: ContentStore) -> None:
    store.put("t/d/x/1", b"one", "text/plain")
    store.put("t/d/x/2", b"two", "text/plain")
    store.delete("t/d/x/1")
    assert store.get("t/d/x/2") == b"two"


def test_names_of_any_script_are_keys(store: ContentStore) -> None:
    store.put("t/d/退款 政策/a+b%2F c", b"x", "text/plain")
    assert store.get("t/d/退款 政策/a+b%2F c") == b"x"
    with pytest.raises(ContentMissing):
        store.get("t/d/退款 政策/a+b/ c")


def test_what_was_never_put_is_missing(store: ContentStore) -> None:
    with pytest.raises(ContentMissing, match="11111111/22222222/33333333/7"):
        store.get(KEY)


def test_a_key_below_or_above_a_kept_one_is_missing(store: ContentStore) -> None:
    store.put(KEY, b"x", "text/plain")
    for key in (f"{KEY}/more", "11111111/22222222/33333333"):
        with pytest.raises(ContentMissing):
            store.get(key)
        store.delete(key)
    assert store.get(KEY) == b"x"


def test_what_was_deleted_is_missing_and_deleting_again_is_fine(store: ContentStore) -> None:
    store.put(KEY, b"x", "text/plain")
    store.delete(KEY)
    store.delete(KEY)
    with pytest.raises(ContentMissing):
        store.get(KEY)


def test_what_is_kept_has_a_size(store: ContentStore) -> None:
    assert store.measure(KEY) is None
    store.put(KEY, b"four", "text/plain")
    assert store.measure(KEY) == 4
    for key in (f"{KEY}/more", "11111111/22222222/33333333", *ESCAPES):
        assert store.measure(key) is None


def test_each_offer_is_a_url_of_its_own(store: ContentStore) -> None:
    keys = ("uploads/t/d/1", "uploads/t/d/2")
    urls = {store.offer(key, 10, timedelta(minutes=1)) for key in keys}
    assert len(urls) == 2
    assert all(store.measure(key) is None for key in keys)


@pytest.mark.parametrize("key", ESCAPES)
def test_no_key_leaves_the_store(store: ContentStore, key: str) -> None:
    with pytest.raises(ValueError, match="no key of the content store"):
        store.put(key, b"x", "text/plain")
    with pytest.raises(ValueError, match="no key of the content store"):
        store.offer(key, 1, timedelta(minutes=1))
    with pytest.raises(ContentMissing):
        store.get(key)
    store.delete(key)
