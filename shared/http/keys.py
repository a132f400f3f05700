"""Who calls: the key of the Authorization header."""

import hmac
from dataclasses import dataclass
from hashlib import sha256

from fastapi import Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from shared.errors import KeyUnknown, Unauthorized
from shared.settings import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose data a request may touch, and the name its writes are filed under."""

    tenant_id: str
    name: str


class Guard(SecurityBase):
    """The dependency that lets only the holder of the bootstrap key in.

    Keys are compared by their hashes, in constant time. Without a bootstrap key nobody comes in.
    """

    scheme_name = "key"
    model = HTTPBearer()

    def __init__(self, bootstrap_key: str | None) -> None:
        self._expected = sha256(bootstrap_key.encode()).digest() if bootstrap_key else None

    # Not for what it awaits, but because FastAPI runs plain functions in another thread.
    async def __call__(self, request: Request) -> Caller:
        """Returns who calls.

        Raises:
            Unauthorized: no key was sent, or another one.
        """
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise Unauthorized
        sent = sha256(key.strip().encode()).digest()
        if self._expected is None or not hmac.compare_digest(sent, self._expected):
            raise KeyUnknown
        return Caller(DEFAULT_TENANT, "bootstrap")


def guard(bootstrap_key: str | None) -> Guard:
    """Returns the dependency that guards routes with this key."""
    return Guard(bootstrap_key)
