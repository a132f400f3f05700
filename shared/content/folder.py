"""The content store as a folder."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.content.keys import is_key, require_key
from shared.errors import ContentMissing, Unavailable


class FolderContentStore:
    """A `ContentStore` that keeps each key as a file below one folder.

    A file appears whole or not at all, and is on disk when `put` returns.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, data: bytes, media_type: str) -> None:  # noqa: ARG002, the port's
        """Stores the bytes; the media type is kept with the document alone."""
        path = self._folder / require_key(key)
        with _explaining_trouble():
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, data)

    def get(self, key: str) -> bytes:
        """Returns the bytes; raises `ContentMissing` where there are none."""
        missing = ContentMissing(f"the content store holds nothing under {key!r}")
        if not is_key(key):
            raise missing
        with _explaining_trouble():
            try:
                return (self._folder / key).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
                raise missing from error

    def delete(self, key: str) -> None:
        """Forgets the bytes; a key that holds nothing is fine."""
        if not is_key(key):
            return
        with _explaining_trouble():
            try:
                (self._folder / key).unlink(missing_ok=True)
            except (NotADirectoryError, IsADirectoryError):
                return


def _write_whole(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".put-", delete=False) as partial:
        try:
            partial.write(data)
            partial.flush()
            os.fsync(partial.fileno())
            Path(partial.name).replace(path)
        except BaseException:
            Path(partial.name).unlink(missing_ok=True)
            raise


@contextmanager
def _explaining_trouble() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the content folder can't be used: {error.strerror}") from error
