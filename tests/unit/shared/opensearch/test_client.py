"""The client against a small server on this machine that answers as it is told."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from shared.errors import ConfigurationError, IndexUnavailable
from shared.opensearch.client import EngineRefused, SearchEngine, connect
from tests.servers.server import wait_for
from tests.servers.talk import talking_server

type Reply = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Server:
    """Answers each request by the next reply; keeps what it was asked."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            state.asked.append((self.command, self.path, dict(self.headers)))
            state.replies.pop(0)(self)

        do_GET = do_POST  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def engine(server: Server) -> Iterator[SearchEngine]:
    engine = connect(server.url, timeout=5)
    yield engine
    engine.close()


def send(status: int, body: Any, content_type: str = "application/json") -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("content-type", content_type)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def wait(seconds: float) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        hang_up(handler)

    return reply


def test_a_request_says_what_it_was_told_and_returns_the_answer(
    server: Server, engine: SearchEngine
) -> None:
    server.replies += [send(200, {"a": 1})]
    answer = engine.request("POST", "/x/_search", body="{}", params={"preference": "7"})
    assert answer == {"a": 1}
    assert server.asked[0][:2] == ("POST", "/x/_search?preference=7")


def test_an_error_of_the_engine_keeps_status_and_kind(server: Server, engine: SearchEngine) -> None:
    body = {"error": {"type": "index_not_found_exception", "reason": "x"}, "status": 404}
    server.replies += [send(404, body)]
    with pytest.raises(EngineRefused) as refused:
        engine.request("POST", "/x/_search")
    assert (refused.value.status, refused.value.is_missing_index) == (404, True)


@pytest.mark.parametrize("status", [400, 401, 403, 413, 429, 500, 502, 503, 504, 520])
def test_every_other_status_is_an_error_of_ours_and_sent_once(
    server: Server, engine: SearchEngine, status: int
) -> None:
    server.replies += [send(status, b"<html>no JSON here</html>", "text/html")]
    with pytest.raises(EngineRefused, match=str(status)):
        engine.request("POST", "/x/_search")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        send(200, b"{half an ans"),
        send(200, b"\xff\xfe"),
        send(200, b"text", "text/plain"),
        send(200, b"", "application/json"),
        send(200, [1]),
    ],
    ids=["cut off", "no UTF-8", "text", "empty", "list"],
)
def test_an_answer_that_is_no_json_object_is_none(
    server: Server, engine: SearchEngine, reply: Reply
) -> None:
    server.replies += [reply, reply]
    with pytest.raises(IndexUnavailable) as error:
        engine.request("POST", "/x/_search")
    assert "127.0.0.1" not in str(error.value)


def test_o10_a_late_answer_is_given_up_at_the_deadline(
    server: Server, engine: SearchEngine
) -> None:
    server.replies += [wait(0.5)]
    with pytest.raises(IndexUnavailable, match="in time"):
        engine.request("POST", "/x/_search", timeout=0.1)
    assert len(server.asked) == 1


def test_o10_an_answer_that_drips_in_is_given_up_at_the_deadline() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
    with talking_server([head], then=b" ") as (host, hung_up):
        engine = connect(f"http://{host}")
        with pytest.raises(IndexUnavailable, match="in time"):
            engine.request("POST", "/x/_search", timeout=0.2)
        wait_for(hung_up.is_set)
        engine.close()


def test_o09_a_connection_that_the_server_had_closed_is_made_anew(
    server: Server, engine: SearchEngine
) -> None:
    server.replies += [hang_up, send(200, {"a": 1})]
    assert engine.request("POST", "/x/_search") == {"a": 1}


def test_the_second_try_keeps_the_deadline(server: Server, engine: SearchEngine) -> None:
    server.replies += [wait(0.2), wait(0.5)]
    with pytest.raises(IndexUnavailable, match="in time"):
        engine.request("POST", "/x/_search", timeout=0.3)


def test_there_is_no_third_try(server: Server, engine: SearchEngine) -> None:
    server.replies += [hang_up, hang_up, send(200, {})]
    with pytest.raises(IndexUnavailable, match="can't be reached"):
        engine.request("POST", "/x/_search")
    assert len(server.asked) == 2


def test_no_message_names_the_host() -> None:
    engine = connect("http://user:secret@127.0.0.1:9", timeout=1)
    with pytest.raises(IndexUnavailable) as error:
        engine.request("GET", "/")
    assert str(error.value) == "The search index can't be reached."
    engine.close()


def test_sigv4_signs_for_the_service_domain(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "eu-west-1"),
    ):
        monkeypatch.setenv(name, value)
    engine = connect(server.url, auth="sigv4")
    server.replies += [send(200, {})]
    engine.request("POST", "/x/_search", body="{}")
    headers = {name.lower(): value for name, value in server.asked[0][2].items()}
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/es/aws4_request" in headers["authorization"]
    engine.close()


def test_sigv4_without_credentials_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(ConfigurationError, match="credentials"):
        connect("https://search.example", auth="sigv4")


def test_j01_serverless_is_refused_by_its_address() -> None:
    with pytest.raises(ConfigurationError, match="Serverless vector collections"):
        connect("https://abc123.eu-west-1.aoss.amazonaws.com", auth="sigv4")


@pytest.mark.parametrize(
    "url", ["", "secret", "ftp://secret", "http://", "http://[", "http://u:secret@h:port"]
)
def test_what_is_no_url_of_an_engine_is_a_wrong_setting(url: str) -> None:
    with pytest.raises(ConfigurationError, match="WINNOW_OPENSEARCH_URL is not a") as raised:
        connect(url)
    assert "secret" not in str(raised.value)
