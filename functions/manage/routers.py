"""All routes of the management API."""

from typing import Any

from fastapi import APIRouter

from functions.manage import chunks, datasets, documents, fields, intake
from functions.manage.parts import Parts


def make_routers(parts: Parts, caller: Any) -> list[APIRouter]:
    """Returns the routers.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    modules = (datasets, intake, documents, chunks, fields)
    return [each.make_router(parts, caller) for each in modules]
