"""All routes of the management API."""

from typing import Any

from fastapi import APIRouter

from functions.manage import chunks, datasets, documents, fields
from functions.manage.parts import Parts


def make_routers(parts: Parts, caller: Any) -> list[APIRouter]:
    """Returns the routers.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    return [each.make_router(parts, caller) for each in (datasets, documents, chunks, fields)]
