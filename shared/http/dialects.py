"""Other products' contracts tell errors in their own way, on the paths that are theirs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter

from shared.model import JsonObject


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a contract tells errors.

    Attributes:
        owns: tells whether a path is the contract's, or meant to be: those are many that no route
            has.
        translate: the error and its problem document → status and body.
        schema: of that body, in JSON Schema.
    """

    owns: Callable[[str], bool]
    translate: Callable[[Exception, JsonObject], tuple[int, JsonObject]]
    schema: JsonObject


class Router(APIRouter):
    """Routes, and the dialect in which errors on their paths are told."""

    def __init__(self, *, dialect: Dialect, **options: Any) -> None:
        super().__init__(**options)
        self.dialect = dialect


def list_dialects(routers: Sequence[APIRouter]) -> Sequence[Dialect]:
    """Returns the dialects that these routers bring along."""
    return [router.dialect for router in routers if isinstance(router, Router)]


def find_dialect(scope: Mapping[str, Any]) -> Dialect | None:
    """Returns the dialect of a request's path, from the app that it was sent to."""
    state = getattr(scope.get("app"), "state", None)
    dialects: Sequence[Dialect] = getattr(state, "dialects", ())
    return next((dialect for dialect in dialects if dialect.owns(scope["path"])), None)
