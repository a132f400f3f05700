"""Ids as callers send them."""

from uuid import UUID


def as_id(sent: str) -> str | None:
    """Returns an id in the form that the database has; None for a text that can be no id."""
    try:
        return str(UUID(sent))
    except ValueError:
        return None
