"""The content store as a folder."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from shared.content.keys import UPLOADS, is_key, require_key
from shared.content.tickets import Ticket, Tickets
from shared.errors import ContentMissing, Unavailable

UPLOADS_PATH = "/v1/uploads/"
"""Where a server takes what is uploaded to a folder; the ticket follows."""

_UPLOADS_STAY_SECONDS = 24 * 3600


class FolderContentStore:
    """A `ContentStore` that keeps each key as a file below one folder.

    A file appears whole or not at all, and is on disk when `put` returns.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tickets = Tickets()

    def put(self, key: str, data: bytes, media_type: str) -> None:  # noqa: ARG002, the port's
        """Stores the bytes; the media type is kept with the document alone."""
        path = self._folder / require_key(key)
        with _explaining_trouble():
            path.parent.mkdir(parents=True, exist_ok=True)
            with _writing_whole(path) as partial:
                partial.write(data)

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

    def measure(self, key: str) -> int | None:
        """Returns the size in bytes; None where there are none."""
        path = self._folder / key if is_key(key) else None
        with _explaining_trouble():
            try:
                return path.stat().st_size if path is not None and path.is_file() else None
            except FileNotFoundError:  # gone since
                return None

    def offer(self, key: str, size: int, valid: timedelta) -> str:
        """Returns a path that takes so many bytes for the key, by PUT, where a server has it."""
        self._forget_uploads()
        return UPLOADS_PATH + self._tickets.write(Ticket(require_key(key), size), valid)

    @contextmanager
    def receiving(self, ticket: str) -> Iterator[tuple[int, IO[bytes]]]:
        """Yields how many bytes an offer takes, and the file that takes them; a failure keeps none.

        Raises:
            Forbidden: nothing of the kind was offered, or too long ago.
        """
        offered = self._tickets.read(ticket)
        path = self._folder / offered.key
        with _explaining_trouble():
            path.parent.mkdir(parents=True, exist_ok=True)
            with _writing_whole(path) as partial:
                yield offered.size, partial

    def _forget_uploads(self) -> None:
        with _explaining_trouble():
            for path in (self._folder / UPLOADS).rglob("*"):
                if path.is_file() and time.time() - path.stat().st_mtime > _UPLOADS_STAY_SECONDS:
                    path.unlink(missing_ok=True)


@contextmanager
def _writing_whole(path: Path) -> Iterator[IO[bytes]]:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".put-", delete=False) as partial:
        try:
            yield partial
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
