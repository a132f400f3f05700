"""Signed permits to put bytes: who holds one needs no key. A folder's presigned URLs."""

import base64
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from datetime import timedelta

from shared.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Ticket:
    """What may be put: so many bytes, under this key."""

    key: str
    size: int


class Tickets:
    """Signs tickets, and reads its own; another process's are no tickets here."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def write(self, ticket: Ticket, valid: timedelta) -> str:
        """Returns a ticket as text that fits into a URL."""
        said = [ticket.key, ticket.size, time.time() + valid.total_seconds()]
        body = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
        return f"{body}.{self._sign(body)}"

    def read(self, written: str) -> Ticket:
        """Returns the ticket; raises `Forbidden` for what was not signed here, or too long ago."""
        body, _, signature = written.partition(".")
        if not hmac.compare_digest(self._sign(body).encode(), signature.encode()):
            raise Forbidden("this is no URL that was given for an upload")
        key, size, until = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if time.time() > until:
            raise Forbidden("this URL has expired; ask for another")
        return Ticket(key, size)

    def _sign(self, body: str) -> str:
        return hmac.new(self._secret, body.encode(), "sha256").hexdigest()
