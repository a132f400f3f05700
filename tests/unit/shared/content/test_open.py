from pathlib import Path

import pytest

from shared.content.folder import FolderContentStore
from shared.content.open import open_content_store
from shared.content.s3 import S3ContentStore
from shared.errors import ConfigurationError


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "with blank é"
    store = open_content_store(folder.as_uri())
    assert isinstance(store, FolderContentStore)
    store.put("a/b", b"x", "text/plain")
    assert (folder / "a" / "b").read_bytes() == b"x"


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/", "s3://bucket/some/prefix/"])
def test_an_s3_url_is_a_bucket_and_opens_nothing_yet(url: str) -> None:
    assert isinstance(open_content_store(url), S3ContentStore)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/folder",
        "folder",
        "file://",
        "file:///",
        "file://host/x",
        "s3://",
        "s3:///x",
        "https://x/y",
    ],
)
def test_anything_else_names_the_setting(url: str) -> None:
    with pytest.raises(ConfigurationError, match="WINNOW_CONTENT_URL"):
        open_content_store(url)
