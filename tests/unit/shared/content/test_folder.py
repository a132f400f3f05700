import time
from datetime import timedelta
from pathlib import Path

import pytest

from shared.content.folder import UPLOADS_PATH, FolderContentStore
from shared.errors import Unavailable


def test_a_put_that_fails_leaves_what_was_there_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderContentStore(tmp_path)
    store.put("a/b", b"first", "text/plain")

    def fill_up(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fill_up)
    with pytest.raises(Unavailable, match="No space left on device"):
        store.put("a/b", b"second", "text/plain")
    assert store.get("a/b") == b"first"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "content").write_text("in the way")
    store = FolderContentStore(tmp_path / "content")
    with pytest.raises(Unavailable, match="the content folder can't be used"):
        store.put("a/b", b"x", "text/plain")


def test_two_stores_on_one_folder_see_the_same(tmp_path: Path) -> None:
    FolderContentStore(tmp_path).put("a/b", b"x", "text/plain")
    assert FolderContentStore(tmp_path).get("a/b") == b"x"


def receive(store: FolderContentStore, url: str, data: bytes) -> None:
    with store.receiving(url.removeprefix(UPLOADS_PATH)) as (size, file):
        file.write(data)
        if len(data) != size:
            raise ValueError


def test_what_an_offer_takes_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    store = FolderContentStore(tmp_path)
    url = store.offer("uploads/t/d/1", 4, timedelta(minutes=1))
    with pytest.raises(ValueError):
        receive(store, url, b"fo")
    assert store.measure("uploads/t/d/1") is None
    receive(store, url, b"four")
    assert store.get("uploads/t/d/1") == b"four"


def test_what_was_uploaded_goes_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderContentStore(tmp_path)
    for key in ("uploads/t/d/1", "t/d/x/1"):
        store.put(key, b"x", "text/plain")
    store.offer("uploads/t/d/2", 4, timedelta(minutes=1))
    assert store.measure("uploads/t/d/1") == 1
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    store.offer("uploads/t/d/3", 4, timedelta(minutes=1))
    assert (store.measure("uploads/t/d/1"), store.measure("t/d/x/1")) == (None, 1)
