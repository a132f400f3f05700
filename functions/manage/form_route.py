"""Routes that take forms, on the paths where others take JSON."""

from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from shared.http.forms import FILE, MEDIA_TYPE, is_form


class FormRoute(APIRoute):
    """A route that a request matches only if its body is a form."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Returns no match where the body is something else."""
        if scope["type"] == "http" and not is_form(scope):
            return Match.NONE, {}
        return super().matches(scope)


def describe_form(*fields: str) -> dict[str, Any]:
    """Returns what OpenAPI says of a form with these fields beside its file, or its files."""
    file: dict[str, Any] = {"type": "string", "format": "binary"}
    properties = {
        FILE: file if fields else {"type": "array", "items": file},
        **{each: {"type": "string"} for each in fields},
    }
    schema = {"type": "object", "required": [FILE], "properties": properties}
    return {"requestBody": {"content": {MEDIA_TYPE: {"schema": schema}}}}
