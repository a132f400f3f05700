"""Which documents may be found: the metadata filter in SQL, and what is hidden."""

from dataclasses import dataclass

from pyroaring import BitMap
from sqlalchemy import Engine

from functions.retrieve.query import Query
from shared.model import AllDocuments, Allowlist, NoDocuments, SearchScope
from shared.postgres.engine import read
from shared.postgres.retrieval import find_allowlists, find_hidden


@dataclass(frozen=True, slots=True)
class Prefiltered:
    """Where to search; scope is None where no dataset has a document that passes.

    Attributes:
        matched_documents: how many documents passed the filter; None without one.
    """

    scope: SearchScope | None
    matched_documents: int | None


def prefilter(query: Query, engine: Engine, timeout: float) -> Prefiltered:
    """Evaluates the filter for each dataset that has searchable documents.

    Without a filter, and with nothing hidden, no statement is sent.
    """
    counts = {each.id: each.searchable_count for each in query.datasets if each.searchable_count}
    hiding = [dataset.id for dataset in query.datasets if dataset.hidden_count > 0]
    found: dict[str, tuple[Allowlist, int]] = {id_: (AllDocuments(), 0) for id_ in counts}
    hidden = BitMap()
    if counts and (query.filter is not None or hiding):
        with read(engine, timeout) as connection:
            if query.filter is not None:
                found = find_allowlists(connection, query.tenant_id, counts, query.filter)
            if hiding:
                hidden = find_hidden(connection, query.tenant_id, hiding)
    matched = sum(count for _, count in found.values())
    allowed = [
        (id_, allowlist)
        for id_, (allowlist, _) in found.items()
        if not isinstance(allowlist, NoDocuments)
    ]
    scope = SearchScope(query.tenant_id, query.space, allowed, hidden) if allowed else None
    return Prefiltered(scope, None if query.filter is None else matched)
