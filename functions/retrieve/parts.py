"""What a query is answered with; `handler.py` builds it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from functions.retrieve.channels import Searcher
from functions.retrieve.pool import Pool
from shared.ports import ChatModel, ExternalSearch, Reranker


@dataclass(frozen=True, slots=True)
class Parts:
    """The two stores, what searches them, what asks external knowledge bases, and models.

    Attributes:
        outside: threads for what asks bases and models; what hangs there takes none from the
            channels of other queries.
        chat_for: makes the chat model of a provider and a name; None = the settings' own.
        chat_timeout: the most seconds that it may take.
        reranker_for: makes the reranking model of a provider and a name; None = the settings' own.
        reranker_timeout: the most seconds that it may take.
        reranker_candidates: the most candidates that it is given.
    """

    engine: Engine
    searcher: Searcher
    external: ExternalSearch
    outside: Pool
    chat_for: Callable[[str | None, str | None], ChatModel]
    chat_timeout: float
    reranker_for: Callable[[str | None, str | None], Reranker]
    reranker_timeout: float
    reranker_candidates: int
