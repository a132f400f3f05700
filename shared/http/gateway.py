"""API Gateway's events, answered by an app as if it stood at the root of its own server."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

_TEXTS = [*DEFAULT_TEXT_MIME_TYPES, "application/problem+json"]
"""What goes back as it is. All else does in base64, which a REST API hands on to the caller."""

_VARIABLE = re.compile(r"\{(\w+)(\+?)\}")


def answer_events(app: FastAPI) -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """Returns what answers the events (payload 1.0 or 2.0) by an app, with their context."""
    # With a lifespan, start-up and shutdown would run at every invocation.
    http = Mangum(app, lifespan="off", text_mime_types=_TEXTS)
    return lambda event, context: http(strip_prefix(event), context)


def strip_prefix(event: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an event whose path begins where its route does.

    What stands before it is a stage's name or a custom domain's base path, which the API has not to
    know: API Gateway has found the route already, and names it in the event.
    """
    if event.get("version") == "2.0":
        path = _strip(event["rawPath"], event["routeKey"].partition(" ")[2], event)
        context = event["requestContext"]
        http = {**context["http"], "path": path}
        return {**event, "rawPath": path, "requestContext": {**context, "http": http}}
    return {**event, "path": _strip(event["path"], event.get("resource") or "", event)}


def _strip(path: str, route: str, event: Mapping[str, Any]) -> str:
    rest = (event.get("pathParameters") or {}).get("proxy")
    if route in {"", "/{proxy+}"} and rest is None:  # a route that is every path
        stage = event["requestContext"].get("stage", "")
        return path.removeprefix(f"/{stage}") if path.startswith(f"/{stage}/") else path
    if route == "/{proxy+}":
        return f"/{rest}" if path.endswith(f"/{rest}") else path
    match = re.fullmatch(f"(?:/[^/]+)*?({_write_pattern(route)})", path)
    return path if match is None else match[1]


def _write_pattern(route: str) -> str:
    parts = []
    end = 0
    for variable in _VARIABLE.finditer(route):
        parts += [re.escape(route[end : variable.start()]), ".+" if variable[2] else "[^/]+"]
        end = variable.end()
    return "".join([*parts, re.escape(route[end:])])
