"""What a query is answered with; `handler.py` builds it."""

from dataclasses import dataclass

from sqlalchemy import Engine

from functions.retrieve.search import Searcher


@dataclass(frozen=True, slots=True)
class Parts:
    """The two stores, and what searches them."""

    engine: Engine
    searcher: Searcher
