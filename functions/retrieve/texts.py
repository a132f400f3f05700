"""The texts of candidates, those that may be seen now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from functions.retrieve.query import Query
from shared.fusion.rank import Scored
from shared.postgres import retrieval
from shared.postgres.engine import read
from shared.postgres.retrieval import RecordText


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Looks up what one query's candidates are.

    Attributes:
        brought: the texts that external bases brought along, by their ids in this query; they are
            not ours to judge.
        age: tells the seconds since the request began.
        left: tells the seconds that PostgreSQL has.
    """

    query: Query
    engine: Engine
    brought: Mapping[str, RecordText]
    age: Callable[[], float]
    left: Callable[[], float]

    def find(self, page: Sequence[Scored]) -> Mapping[str, RecordText]:
        """Returns those of candidates that are not deleted, disabled, archived or filtered out."""
        ids = [scored.chunk_id for scored in page if scored.chunk_id not in self.brought]
        if not ids:
            return self.brought
        query = self.query
        with read(self.engine, self.left()) as connection:
            found = retrieval.hydrate(connection, query.tenant_id, ids, self.age(), query.filter)
        return {**self.brought, **found}
