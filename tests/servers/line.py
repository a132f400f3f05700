"""A line to a server that can be led elsewhere, hung up, and frozen without a word."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Line:
    """Passes on what comes to its port.

    Attributes:
        port: its own, on 127.0.0.1.
        target: the host and port that new connections lead to.
        opened: how many connections there were.
        open: how many there are.
        most: how many there were at once.
    """

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._signs: tuple[bytes, ...] = ()
        self._held: dict[socket.socket, threading.Event] = {}  # set while it passes on
        self.opened = self.open = self.most = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, host: str, port: int) -> None:
        """Leads new connections to another server."""
        self.target = (host, port)

    def freeze(self) -> None:
        """Passes nothing on for the connections there are, for ever, and closes none of them."""
        with self._lock:
            for flowing in self._held.values():
                flowing.clear()

    def freeze_at(self, *signs: bytes) -> None:
        """Freezes as soon as these have come one after the other on one of its connections.

        The last of them is not passed on.
        """
        self._signs = signs

    def hang_up(self) -> None:
        """Ends every connection there is."""
        with self._lock:
            held = dict(self._held)
        for each, flowing in held.items():
            flowing.set()
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Takes no more, and ends what there is."""
        self._listener.close()
        self.hang_up()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=[near], daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self.target, timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        flowing = threading.Event()
        flowing.set()
        with self._lock:
            self._held |= {near: flowing, far: flowing}
            self.opened += 1
            self.open += 1
            self.most = max(self.most, self.open)
        back = threading.Thread(target=self._pump, args=[far, near, flowing], daemon=True)
        back.start()
        self._pump(near, far, flowing)
        back.join()
        with self._lock:
            del self._held[near], self._held[far]
            self.open -= 1
        near.close()
        far.close()

    def _pump(self, source: socket.socket, target: socket.socket, flowing: threading.Event) -> None:
        seen = 0
        try:
            while data := source.recv(65_536):
                if seen < len(self._signs) and self._signs[seen] in data:
                    seen += 1
                    if seen == len(self._signs):
                        self._signs = ()
                        self.freeze()
                flowing.wait()
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def running_line(host: str, port: int) -> Iterator[Line]:
    """A line, for as long as the context lasts."""
    line = Line(host, port)
    try:
        yield line
    finally:
        line.close()
