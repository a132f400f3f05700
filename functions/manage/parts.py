"""What the management API works with; `handler.py` builds it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from shared.model import EmbeddingSpace
from shared.ports import ChangeQueue, ContentStore

type CheckReranker = Callable[[str | None, str | None, EmbeddingSpace | None, str], None]
"""Raises `InvalidRequest` where the model of a provider and a name can't be a dataset's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The clients and limits of the manage function.

    Attributes:
        max_bytes: the largest document that is taken.
        external_hosts: host:port that external bases may have, whatever their address.
        wait_seconds: how long a request with `wait=true` may last before it answers 202.
        providers: of embeddings, those that the settings allow.
        check_reranker: gets provider, model, the dataset's space and where they stand.
    """

    engine: Engine
    content: ContentStore
    queue: ChangeQueue
    max_bytes: int
    wait_seconds: float
    external_hosts: frozenset[str] = frozenset()
    providers: frozenset[str]
    check_reranker: CheckReranker
