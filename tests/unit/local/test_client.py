import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from local.client import ApiRefused, ApiSilent, Client
from shared.http.forms import File, Form, parse_form

KEY = "k" * 32


class Api(ThreadingHTTPServer):
    """Gives its answers in order, the last one again and again.

    Attributes:
        answers: (status, JSON or bytes).
        asked: (method, path, body) of each request; the body as bytes where it is no JSON.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, str, Any]] = []
        self.keys: set[str | None] = set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        api = self.server
        assert isinstance(api, Api)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_json = self.headers.get("Content-Type") == "application/json"
        asked = body if not is_json else json.loads(body) if body else None
        api.asked.append((self.command, self.path, asked))
        api.keys.add(self.headers.get("Authorization"))
        status, answer = api.answers.pop(0) if len(api.answers) > 1 else api.answers[0]
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as api:
        thread = threading.Thread(target=api.serve_forever, args=[0.01])
        thread.start()
        yield api
        api.shutdown()
        thread.join()


@pytest.fixture
def client(api: Api) -> Iterator[Client]:
    client = Client(f"http://127.0.0.1:{api.server_port}", KEY)
    yield client
    client.close()


def test_it_sends_its_key_and_text_as_it_is(api: Api, client: Client) -> None:
    api.answers = [(200, '{"记录": []}'.encode())]
    assert client.post_raw("/v1/retrieve", {"query": "退款"}) == '{"记录": []}'.encode()
    assert api.asked == [("POST", "/v1/retrieve", {"query": "退款"})]
    assert api.keys == {f"Bearer {KEY}"}


def test_what_the_api_refuses_is_told_in_its_words(api: Api, client: Client) -> None:
    problem = {"title": "Your request is wrong", "status": 400, "detail": "/a: b"}
    errors = [{"pointer": "/top_k", "detail": "too large"}, {"pointer": "", "detail": "odd"}]
    api.answers = [
        (400, problem | {"errors": errors}),
        (404, problem | {"title": "Not found"}),
        (502, b"<html>"),
    ]
    for words in (
        "^Your request is wrong: /top_k: too large; body: odd$",
        "^Not found: /a: b$",
        "status 502",
    ):
        with pytest.raises(ApiRefused, match=words):
            client.get("/v1/datasets")


def test_a_busy_api_is_asked_again(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    busy = (503, {"title": "Not available now", "detail": "later"})
    api.answers = [busy, busy, (200, {"id": "1"})]
    assert client.post("/v1/datasets", {"name": "a"}) == {"id": "1"}
    api.answers = [busy]
    with pytest.raises(ApiRefused, match="Not available now: later"):
        client.post("/v1/datasets", {"name": "a"})


def test_an_api_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    gone = Client("http://127.0.0.1:9", KEY)
    with pytest.raises(ApiSilent, match=r"^http://127\.0\.0\.1:9 does not answer"):
        gone.get("/health")
    gone.close()


def test_a_file_goes_as_a_form(api: Api, client: Client) -> None:
    api.answers = [(202, {"id": "1"})]
    fields = {"name": "退款.md", "metadata": "{}"}
    assert client.post_form("/v1/x", fields, "退款.md", b"\xff\r\n", "text/markdown") == {"id": "1"}
    [(_, _, body)] = api.asked
    boundary = body.partition(b"\r\n")[0].removeprefix(b"--").decode()
    scope = {"headers": [(b"content-type", f"multipart/form-data; boundary={boundary}".encode())]}
    assert parse_form(scope, body) == Form(fields, [File("退款.md", "text/markdown", b"\xff\r\n")])
    assert api.keys == {f"Bearer {KEY}"}


def test_bytes_are_put_without_the_key(api: Api, client: Client) -> None:
    api.answers = [(200, b"")]
    client.put(f"http://127.0.0.1:{api.server_port}/place?signature=x", b"\xff")
    assert api.asked == [("PUT", "/place?signature=x", b"\xff")]
    assert api.keys == {None}


def test_a_document_that_there_is_not_is_none(api: Api, client: Client) -> None:
    api.answers = [(200, {"id": "1"}), (404, {"title": "Not found", "detail": "no"})]
    assert client.find_document("1") == {"id": "1"}
    assert client.find_document("2") is None
    api.answers = [(401, {"title": "No valid key", "detail": "no"})]
    with pytest.raises(ApiRefused):
        client.find_document("1")


def test_pages_are_followed_to_their_end(api: Api, client: Client) -> None:
    api.answers = [
        (200, {"documents": [{"id": 1}, {"id": 2}], "next_cursor": "a=b&c"}),
        (200, {"documents": [{"id": 3}], "next_cursor": None}),
    ]
    assert [each["id"] for each in client.list_documents("d")] == [1, 2, 3]
    assert [path for _, path, _ in api.asked] == [
        "/v1/datasets/d/documents?limit=500",
        "/v1/datasets/d/documents?limit=500&cursor=a%3Db%26c",
    ]


def test_a_dataset_is_found_by_name_or_id(api: Api, client: Client) -> None:
    api.answers = [(200, {"datasets": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]})]
    assert client.find_dataset("b") == client.find_dataset("2") == {"id": "2", "name": "b"}
    assert client.find_dataset("c") is None
