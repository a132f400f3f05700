"""Stands before a real OpenSearch, and spoils its answers to the requests of one channel."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

_PIECE = 65_536


class Call:
    """One request that came, and the way to answer it."""

    def __init__(
        self, client: socket.socket, ask: Callable[[], tuple[bytes, bytes]], over: threading.Event
    ) -> None:
        self.client = client
        self.ask = ask  # returns head and body of the engine's answer
        self.over = over

    def say(self, body: bytes, status: str = "200 OK") -> None:
        self.client.sendall(f"HTTP/1.1 {status}\r\n{_LENGTH} {len(body)}\r\n\r\n".encode() + body)

    def stay_silent(self) -> None:
        """Waits until the client hangs up, or the test is over."""
        self.client.settimeout(0.05)
        while not self.over.is_set():
            with suppress(TimeoutError):
                if not self.client.recv(1):
                    return

    def drip(self, data: bytes) -> None:
        """Sends a byte now and then, soon enough for any socket's own timeout, never the last."""
        for byte in data[:-1]:
            if self.over.wait(0.03):
                return
            self.client.sendall(bytes([byte]))
        self.stay_silent()


type Fault = Callable[[Call], bool]
"""Answers a call in its own way; tells whether the connection goes on."""
_LENGTH = "Content-Type: application/json\r\nContent-Length:"


def reset(call: Call) -> bool:
    call.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def hang_up(call: Call) -> bool:
    del call
    return False


def stay_silent(call: Call) -> bool:
    call.stay_silent()
    return False


def stop_halfway(call: Call) -> bool:
    head, body = call.ask()
    call.client.sendall(head + body[: len(body) // 2])
    return False


def fall_silent_halfway(call: Call) -> bool:
    head, body = call.ask()
    call.client.sendall(head + body[: len(body) // 2])
    call.stay_silent()
    return False


def drip(call: Call) -> bool:
    head, body = call.ask()
    call.client.sendall(head)
    call.drip(body)
    return False


def drip_from_the_start(call: Call) -> bool:
    call.drip(b"".join(call.ask()))
    return False


def send_half(call: Call) -> bool:
    body = call.ask()[1]
    call.say(body[: len(body) // 2])
    return True


def send_nothing(call: Call) -> bool:
    call.say(b"")
    return True


def send_page(call: Call) -> bool:
    call.say(b"<html>busy</html>")
    return True


def send_other_json(call: Call) -> bool:
    call.say(b'{"took": 3, "hits": {"hits": [{"_score": "much"}]}, "_shards": {}}')
    return True


def speak_no_http(call: Call) -> bool:
    call.client.sendall(b"\x16\x03\x01 nothing that HTTP knows \r\n\r\n")
    return False


def refuse(status: str) -> Fault:
    def answer(call: Call) -> bool:
        call.say(b'{"error": {"type": "rejected_execution_exception"}, "status": 1}', status)
        return True

    return answer


def say_timed_out(call: Call) -> bool:
    return _change(call, lambda answer: answer | {"timed_out": True})


def find_nothing(call: Call) -> bool:
    return _change(call, lambda answer: answer | {"hits": answer["hits"] | {"hits": []}})


def miss_a_shard(call: Call) -> bool:
    return _change(call, lambda answer: answer | {"_shards": answer["_shards"] | {"failed": 1}})


def _change(call: Call, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    call.say(json.dumps(change(json.loads(call.ask()[1]))).encode())
    return True


def tell_channel(request: bytes) -> str:
    """Returns what a request is for: a channel, or a part of one."""
    if b"/_termvectors" in request[:300]:
        return "idf"
    if b'"knn"' in request:
        return "vector"
    if b'{"terms": {"chunk"' in request:
        return "cosines"
    return "keyword" if b'"keywords"' in request else "text"


class Saboteur:
    """A proxy of the engine.

    Attributes:
        faults: what happens to the requests of a channel; those of others are passed on.
        url: where it is reached.
        met: how many requests of each channel came.
    """

    def __init__(self, engine_url: str) -> None:
        parts = urlsplit(engine_url)
        self._engine = (parts.hostname or "", parts.port or 80)
        self.faults: dict[str, Fault] = {}
        self.met: dict[str, int] = {}
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._clients: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._start(self._listen)

    def count_connections(self) -> int:
        with self._lock:
            return len(self._clients)

    def vanish(self) -> None:
        """Refuses connections, and resets those that there are."""
        self._stop_listening()
        with self._lock:
            for client in self._clients:
                _shut(client)

    def come_back(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=64)
        self._start(self._listen)

    @contextmanager
    def running(self) -> Iterator["Saboteur"]:
        try:
            yield self
        finally:
            self._over.set()
            self.vanish()
            for thread in self._threads:
                thread.join()

    def _start(self, run: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=run, args=args, name="saboteur", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _stop_listening(self) -> None:
        _shut(self._listener)
        self._listener.close()

    def _listen(self) -> None:
        listener = self._listener
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self._clients.add(client)
        try:
            with suppress(OSError), client, socket.create_connection(self._engine) as engine:
                engine.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while self._answer(client, engine):
                    client.settimeout(None)
        finally:
            with self._lock:
                self._clients.discard(client)

    def _answer(self, client: socket.socket, engine: socket.socket) -> bool:
        request = b"".join(_read_message(client))
        if not request:
            return False
        channel = tell_channel(request)
        with self._lock:
            self.met[channel] = self.met.get(channel, 0) + 1
            fault = self.faults.get(channel)

        def ask() -> tuple[bytes, bytes]:
            engine.sendall(request)
            return _read_message(engine)

        if fault is not None:
            return fault(Call(client, ask, self._over))
        client.sendall(b"".join(ask()))
        return True


def _read_message(sock: socket.socket) -> tuple[bytes, bytes]:
    """Returns head and body of a message that says its length; nothing where it ends before."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(_PIECE)
        if not piece:
            return b"", b""
        data += piece
    head, gap, body = data.partition(b"\r\n\r\n")
    lengths = [
        int(line.partition(b":")[2])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    while lengths and len(body) < lengths[0]:
        body += sock.recv(_PIECE)
    return head + gap, body


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
