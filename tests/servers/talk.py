"""A server that sends given bytes, whatever it is asked, and maybe never comes to an end."""

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


@contextmanager
def talking_server(
    pieces: Sequence[bytes], then: bytes = b"", tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, threading.Event]]:
    """Its host:port, and an event that is set once a client hung up on what has no end.

    Args:
        pieces: what is sent for the first request of each connection, which is then closed.
        then: sent again and again after that, a little at a time, in place of closing.
        tls: for https.
    """
    hung_up, stopping = threading.Event(), threading.Event()

    def talk(client: socket.socket) -> None:
        with suppress(OSError), client:
            read_request(client)
            for piece in pieces:
                client.sendall(piece)
            while then and not stopping.wait(0.02):
                client.sendall(then)
        hung_up.set()

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                client.settimeout(10)
                with suppress(OSError):
                    talk(tls.wrap_socket(client, server_side=True) if tls else client)
                client.close()
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=[listener], daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}", hung_up
        finally:
            stopping.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def read_request(client: socket.socket) -> None:
    """Reads to the end of a request that says its length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.partition(b":")[2])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    )
    while len(body) < length:
        body += client.recv(65_536)
