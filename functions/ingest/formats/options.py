"""What bounds the reading of a file, and what is read of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How files are read.

    Attributes:
        most_expanded: how far a file may expand: bytes of its parts, characters of its text.
        include_hidden: reads what the file hides from its readers as well.
    """

    most_expanded: int = 100_000_000
    include_hidden: bool = False
