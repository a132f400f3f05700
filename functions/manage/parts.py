"""What the management API works with; `handler.py` builds it."""

from dataclasses import dataclass

from sqlalchemy import Engine

from shared.ports import ChangeQueue, ContentStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The clients and limits of the manage function.

    Attributes:
        max_bytes: the largest document that is taken.
        external_hosts: host:port that external bases may have, whatever their address.
        wait_seconds: how long `wait=true` waits before it answers 202.
        wait_seconds: how long a request with `wait=true` may last before it answers 202.
        providers: of embeddings, those that the settings allow.
    """

    engine: Engine
    content: ContentStore
    queue: ChangeQueue
    max_bytes: int
    wait_seconds: float
    external_hosts: frozenset[str] = frozenset()
    providers: frozenset[str]
