"""What one query reads: allowlists, hidden documents, kept keywords, and the winners' text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyroaring import BitMap
from sqlalchemy import ARRAY, Connection, Text, Uuid, bindparam, cast, func, literal, or_, select
from sqlalchemy.dialects.postgresql import BYTEA

from shared.metadata.conditions import Tree
from shared.model import AllDocuments, Allowlist, JsonObject, NoDocuments, TheseDocuments
from shared.postgres.conditions import to_sql
from shared.postgres.tables import chunks, datasets, documents, hidden, memberships, searchable


def find_allowlists(
    connection: Connection, dataset_ids: Sequence[str], tree: Tree
) -> dict[str, tuple[Allowlist, int]]:
    """Returns each dataset's allowlist and how many documents match, in one statement.

    A filter that every searchable document passes is no filter.
    """
    total = (
        select(datasets.c.searchable_count)
        .where(datasets.c.id == documents.c.dataset_id)
        .scalar_subquery()
    )
    rows = connection.execute(
        select(documents.c.dataset_id, func.count().label("matched"), _packed(), total.label("all"))
        .where(
            documents.c.dataset_id.in_(dataset_ids),
            searchable,
            to_sql(tree, documents.c.filter_values),
        )
        .group_by(documents.c.dataset_id)
    )
    found: dict[str, tuple[Allowlist, int]] = {
        row.dataset_id: (
            AllDocuments() if row.matched == row.all else TheseDocuments(_unpack(row.seqs)),
            row.matched,
        )
        for row in rows
    }
    return {each: found.get(each, (NoDocuments(), 0)) for each in dataset_ids}


def find_hidden(connection: Connection, dataset_ids: Sequence[str]) -> BitMap:
    """Returns the `seq`s of documents that are in the index and must not be found."""
    packed = connection.execute(
        select(_packed()).where(documents.c.dataset_id.in_(dataset_ids), hidden)
    ).scalar_one()
    return BitMap() if packed is None else _unpack(packed)


def load_keywords(connection: Connection, chunk_ids: Sequence[str]) -> dict[str, str]:
    """Returns the kept keywords of chunks, each as the one text that was stored."""
    rows = connection.execute(_KEYWORDS, {"ids": list(chunk_ids)})
    return {row.id: row.keywords for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A winner's text and where it comes from."""

    chunk_id: str
    document_id: str
    dataset_id: str
    content: str
    title: str
    metadata: JsonObject
    position: int
    page: int | None
    source: str | None


def hydrate(
    connection: Connection, tenant_id: str, chunk_ids: Sequence[str], age: float
) -> dict[str, Passage]:
    """Returns those chunks that this tenant's queries may see now.

    Args:
        connection: reads the newest committed state.
        tenant_id: whose documents they must be.
        chunk_ids: the winners.
        age: seconds since the request began. A chunk that was live then still counts, so that a
            query that runs while a new version goes live never finds neither.
    """
    rows = connection.execute(_PASSAGES, {"ids": list(chunk_ids), "tenant": tenant_id, "age": age})
    return {row.chunk_id: _passage(row._asdict()) for row in rows}


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(**row | {"metadata": row["metadata"] or {}})


def _packed() -> Any:
    # One binary value: rows would cost seven times as much for half a million documents.
    return func.string_agg(func.int4send(documents.c.seq), cast(literal(b""), BYTEA)).label("seqs")


def _unpack(packed: bytes) -> BitMap:
    return BitMap(np.frombuffer(packed, dtype=">i4").astype(np.uint32))


def _among(name: str) -> Any:
    return func.any(cast(bindparam(name, type_=ARRAY(Text)), ARRAY(Uuid(as_uuid=False))))


_KEYWORDS = select(cast(chunks.c.id, Text).label("id"), chunks.c.keywords).where(
    chunks.c.id == _among("ids")
)

_was_live = memberships.c.superseded_at > func.now() - func.make_interval(
    0, 0, 0, 0, 0, 0, bindparam("age")
)

_PASSAGES = (
    select(
        chunks.c.id.label("chunk_id"),
        chunks.c.text.label("content"),
        documents.c.id.label("document_id"),
        documents.c.dataset_id,
        documents.c.name.label("title"),
        documents.c.doc_metadata.label("metadata"),
        documents.c.source,
        memberships.c.position,
        memberships.c.page,
    )
    .join(memberships, memberships.c.chunk_id == chunks.c.id)
    .join(documents, documents.c.id == chunks.c.document_id)
    .where(
        chunks.c.id == _among("ids"),
        documents.c.tenant_id == bindparam("tenant"),
        searchable,
        memberships.c.from_version <= documents.c.live_version,
        or_(
            memberships.c.until_version.is_(None),
            memberships.c.until_version > documents.c.live_version,
            _was_live,
        ),
    )
    # The live place of a chunk comes last and wins over one that ended a moment ago.
    .order_by(memberships.c.from_version)
)
