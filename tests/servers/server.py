"""A local HTTP server that answers as a model server does, well or badly."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What to answer.

    Attributes:
        body: JSON, or bytes as they are.
        delay: seconds before the answer.
        hang_up: closes the connection instead of answering.
        drips: a byte now and then in place of the body, and no end.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang_up: bool = False
    drips: bool = False


class ModelServer:
    """Answers each request by the next scripted answer, or well once there are none left.

    Attributes:
        answer: the good answer.
        script: answers to give first, in order; a callable gets the request.
        requests: all that came.
        connections: how many were opened.
        idle_seconds: connections that wait longer are closed.
    """

    def __init__(
        self, answer: Callable[[Request], Reply], idle_seconds: float | None = None
    ) -> None:
        self.answer = answer
        self.script: list[Reply | Callable[[Request], Reply]] = []
        self.requests: list[Request] = []
        self.connections = 0
        self.idle_seconds = idle_seconds
        self.closed = threading.Semaphore(0)  # released once for each connection that ended
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator["ModelServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def is_stopping(self, seconds: float) -> bool:
        """Tells it at once where it is, else after so many seconds."""
        return self._stopping.wait(seconds)

    def open_connection(self) -> None:
        with self._lock:
            self.connections += 1

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            scripted = self.script.pop(0) if self.script else self.answer
        reply = scripted if isinstance(scripted, Reply) else scripted(request)
        self._stopping.wait(reply.delay)
        return reply


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = server.idle_seconds
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            server.open_connection()

        def finish(self) -> None:
            super().finish()
            self.connection.close()
            server.closed.release()

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            reply = server.reply_to(Request(self.path, dict(self.headers), json.loads(data)))
            if reply.hang_up:
                self.close_connection = True
                return
            self._write(reply)

        def _write(self, reply: Reply) -> None:
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            headers = {"Content-Type": "application/json"} | reply.headers
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "1000000" if reply.drips else str(len(body)))
            try:
                self.end_headers()
                while reply.drips and not server.is_stopping(0.02):
                    self.wfile.write(b" ")
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # the client gave up

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Returns once the condition holds; fails when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.005)
