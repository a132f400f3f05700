"""API Gateway's events below a stage's name or a custom domain's base path, as if there were none.

What stands before the route in a path is nothing that the API has to know: API Gateway has found
the route already, and names it in the event. Pure.
"""

import re
from collections.abc import Mapping
from typing import Any

_VARIABLE = re.compile(r"\{(\w+)(\+?)\}")


def strip_prefix(event: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an event (payload 1.0 or 2.0) whose path begins where its route does."""
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
