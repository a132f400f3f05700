"""The edge: what no request may hold is refused here, once, before anything reads it.

NUL and lone surrogates can't be stored as text and would leave a database connection out of step;
a body over the limit is not kept in memory.
"""

import json
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.errors import InvalidRequest, TooLarge
from shared.http.forms import is_form
from shared.http.problems import respond
from shared.text import check_text

_DRAIN_FACTOR = 25
"""An oversized body is read and thrown away up to so many times the limit, so that its sender,
who is still sending, gets to read the answer."""


class Edge:
    """ASGI middleware that bounds bodies and refuses text that is none."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on once its head and body are fit to be read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            _check_head(scope)
            body = await self._read(receive)
            if not is_form(scope):  # whose files hold any bytes, and whose reader checks its texts
                _check_body(body)
        except (InvalidRequest, TooLarge) as error:
            await respond(error, scope)(scope, receive, send)
            return
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    async def _read(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        more = True
        while more and size <= self._most * _DRAIN_FACTOR:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size <= self._most:
                parts.append(part)
            more = message.get("more_body", False)
        if size > self._most:
            raise TooLarge(f"the body is larger than {self._most} bytes")
        return b"".join(parts)


def _check_head(scope: Scope) -> None:
    parts = {
        "path": unquote_to_bytes(scope.get("raw_path") or scope["path"].encode()),
        "query": unquote_to_bytes(scope.get("query_string", b"")),
    }
    for name, value in parts.items():
        check_text(_decode(value, name), name)
    for name, value in scope["headers"]:
        if b"\0" in value:
            raise InvalidRequest.at(f"header {name.decode('latin-1')}", "holds a NUL character")
        if name == b"content-encoding" and value.strip().lower() not in {b"", b"identity"}:
            raise InvalidRequest.at("header content-encoding", "bodies are read as they come")


def _check_body(body: bytes) -> None:
    if b"\\u" not in body and b"\0" not in body and body.isascii():
        return  # nothing in it can become NUL or a surrogate
    _decode(body, "")
    if b"\0" in body:
        raise InvalidRequest.at("", "holds a NUL character")
    if b"\\u" in body:
        try:
            value = json.loads(body)  # as whoever reads it will: from bytes, a mark in front or not
        except (ValueError, RecursionError):
            return  # no JSON: whoever reads the body says so
        check_text(value)


def _decode(value: bytes, where: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest.at(where, f"is not UTF-8 at byte {error.start}") from error
