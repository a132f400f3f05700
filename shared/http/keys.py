"""Who calls: the key of the Authorization header."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from fastapi import Request

from shared.errors import KeyUnknown, Unauthorized
from shared.settings import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose data a request may touch, and the name its writes are filed under."""

    tenant_id: str
    name: str


def guard(bootstrap_key: str | None) -> Callable[[Request], Awaitable[Caller]]:
    """Returns the dependency that lets only the holder of the bootstrap key in.

    Keys are compared by their hashes, in constant time. Without a bootstrap key nobody comes in.
    """
    expected = sha256(bootstrap_key.encode()).digest() if bootstrap_key else None

    # Not for what it awaits, but because FastAPI runs plain functions in another thread.
    async def authenticate(request: Request) -> Caller:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise Unauthorized
        sent = sha256(key.strip().encode()).digest()
        if expected is None or not hmac.compare_digest(sent, expected):
            raise KeyUnknown
        return Caller(DEFAULT_TENANT, "bootstrap")

    return authenticate
