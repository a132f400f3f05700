"""The one error of reading a collection."""

from shared.errors import WinnowError


class CollectionUnusable(WinnowError):
    """A collection can't be read; the message names the file and the line."""
