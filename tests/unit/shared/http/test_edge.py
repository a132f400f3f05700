"""What no request may hold is refused before anything reads it."""

import asyncio
import gzip
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from shared.http.edge import Edge

LIMIT = 1_000
MARK = b"\xef\xbb\xbf"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await Response(body)(scope, receive, send)


def call(
    *parts: bytes,
    path: bytes = b"/",
    query: bytes = b"",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> tuple[int, bytes]:
    """Sends a body of these parts; returns the status and the answer."""
    waiting: list[Message] = [
        {"type": "http.request", "body": part, "more_body": True} for part in parts
    ]
    waiting.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Message] = []
    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": path.decode("latin-1"),
        "raw_path": path,
        "query_string": query,
        "headers": headers or [],
    }

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(Edge(echo, LIMIT)(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def problem(answer: tuple[int, bytes]) -> dict[str, Any]:
    status, body = answer
    found: dict[str, Any] = json.loads(body)
    assert found["status"] == status
    return found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"not JSON",
        '{"a": "退款 😀 \u200b"}'.encode(),
        rb'{"a": "\ud83d\ude00 \u9000 \\u0000"}',
        rb"not JSON \u0000",
        MARK + b"{}",
    ],
)
def test_what_is_fine_goes_through_as_it_is(body: bytes) -> None:
    assert call(body) == (200, body)
    halves = body[: len(body) // 2], body[len(body) // 2 :]
    assert call(*halves) == (200, body)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (rb'{"query": "a\u0000"}', "/query"),
        (rb'{"query": "a\ud800"}', "/query"),
        (rb'{"query": "\udc00\ud800"}', "/query"),
        (rb'{"a": [1, {"b/c~d": "\u0000"}]}', "/a/1/b~1c~0d"),
        (rb'{"a": {"\u0000": 1}}', "/a"),
        (rb'{"a": {"\udfff": 1}}', "/a"),
        (rb'"\u0000"', ""),
        (b'{"a": "\0"}', ""),
        (b'{"a": "\xed\xa0\x80"}', ""),
        (b'{"a": "\xff"}', ""),
        (MARK + rb'{"a": "\u0000"}', "/a"),
        ('{"a": 1}'.encode("utf-16"), ""),
    ],
)
def test_g13_nul_and_lone_surrogates_are_refused_at_their_place(body: bytes, pointer: str) -> None:
    found = problem(call(body))
    assert found["status"] == 400
    assert [each["pointer"] for each in found["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (b"/v1/datasets/%00", b""),
        (b"/v1/datasets/%ED%A0%80", b""),
        (b"/v1/datasets/%FF", b""),
        (b"/", b"cursor=%00"),
        (b"/", b"%ED%A0%80=1"),
    ],
)
def test_g13_a_path_or_a_query_string_that_is_no_text_is_refused(path: bytes, query: bytes) -> None:
    found = problem(call(path=path, query=query))
    assert found["status"] == 400
    assert found["errors"][0]["pointer"] in {"path", "query"}


@pytest.mark.parametrize("coding", [b"gzip", b"BR", b"identity, gzip"])
def test_a_compressed_body_is_refused_as_such(coding: bytes) -> None:
    found = problem(call(gzip.compress(b"{}"), headers=[(b"content-encoding", coding)]))
    assert found["errors"][0]["pointer"] == "header content-encoding"
    assert call(b"{}", headers=[(b"content-encoding", b"identity")]) == (200, b"{}")


def test_g13_a_header_with_nul_is_refused() -> None:
    found = problem(call(headers=[(b"x-anything", b"Bearer a\0b")]))
    assert found["status"] == 400
    assert found["errors"][0]["pointer"] == "header x-anything"


def test_a_body_up_to_the_limit_goes_through_and_one_byte_more_does_not() -> None:
    assert call(b"a" * LIMIT)[0] == 200
    assert problem(call(b"a" * LIMIT, b"a"))["status"] == 413


def test_a_huge_body_is_read_to_an_end_and_not_kept() -> None:
    class Parts:
        def __init__(self) -> None:
            self.read = 0

        async def __call__(self) -> Message:
            self.read += 1
            return {"type": "http.request", "body": b"a" * LIMIT, "more_body": True}

    parts = Parts()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/", "raw_path": b"/", "query_string": b"", "headers": []}
    asyncio.run(Edge(echo, LIMIT)(scope, parts, send))
    assert sent[0]["status"] == 413
    assert parts.read < 100


def test_a_nested_body_of_any_depth_is_left_to_whoever_reads_it() -> None:
    body = b'["\\u0041",' + b"[" * (LIMIT - 20)
    assert call(body) == (200, body)


def test_other_traffic_is_passed_on() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001, ASGI's own
        seen.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        return None

    asyncio.run(Edge(app, LIMIT)({"type": "lifespan"}, nothing, nothing))
    assert seen == ["lifespan"]
