"""Which documents may be found: the metadata filter in SQL, and what is hidden."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyroaring import BitMap
from sqlalchemy import Engine

from functions.retrieve.query import Query
from shared.model import (
    AllDocuments,
    Allowlist,
    EmbeddingSpace,
    NoDocuments,
    SearchScope,
    TheseDocuments,
)
from shared.postgres.engine import read
from shared.postgres.retrieval import find_allowlists, find_disabled, find_hidden


@dataclass(frozen=True, slots=True)
class Prefiltered:
    """Where to search.

    Attributes:
        scopes: one for each embedding space; none where no dataset has a document that passes.
        matched_documents: how many documents passed the filter; None without one.
    """

    scopes: Sequence[SearchScope]
    matched_documents: int | None


def prefilter(query: Query, engine: Engine, timeout: float) -> Prefiltered:
    """Evaluates the filter for each dataset that has searchable documents.

    Without a filter, and with nothing hidden, no statement is sent.
    """
    counts = {each.id: each.searchable_count for each in query.datasets if each.searchable_count}
    hiding = [dataset.id for dataset in query.datasets if dataset.hidden_count > 0]
    disabling = [dataset.id for dataset in query.datasets if dataset.has_disabled_chunks]
    found: dict[str, tuple[Allowlist, int]] = {id_: (AllDocuments(), 0) for id_ in counts}
    hidden = BitMap()
    disabled: Sequence[str] = ()
    if counts and (query.filter is not None or hiding or disabling):
        with read(engine, timeout) as connection:
            if query.filter is not None:
                found = find_allowlists(connection, query.tenant_id, counts, query.filter)
            if hiding:
                hidden = find_hidden(connection, query.tenant_id, hiding)
            if disabling:
                disabled = find_disabled(connection, query.tenant_id, disabling)
    matched = sum(count for _, count in found.values())
    spaces = {dataset.id: dataset.space for dataset in query.datasets}
    allowed: dict[EmbeddingSpace, list[tuple[str, AllDocuments | TheseDocuments]]] = {}
    for id_, (allowlist, _) in found.items():
        if not isinstance(allowlist, NoDocuments):
            allowed.setdefault(spaces[id_], []).append((id_, allowlist))
    scopes = [
        SearchScope(query.tenant_id, space, each, hidden, disabled)
        for space, each in allowed.items()
    ]
    return Prefiltered(scopes, None if query.filter is None else matched)
