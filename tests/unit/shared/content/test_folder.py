from pathlib import Path

import pytest

from shared.content.folder import FolderContentStore
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
