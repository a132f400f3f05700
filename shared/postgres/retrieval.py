"""What one query reads: allowlists, hidden documents, kept keywords, and the winners' text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from pyroaring import BitMap
from sqlalchemy import (
    Connection,
    Interval,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    not_,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import BYTEA

from shared.metadata.conditions import Tree
from shared.model import (
    AllDocuments,
    Allowlist,
    JsonObject,
    NoDocuments,
    TheseDocuments,
    put_heading,
)
from shared.postgres.conditions import to_sql
from shared.postgres.ids import is_among, is_id, join_ids
from shared.postgres.prepared import OPTION
from shared.postgres.tables import (
    chunks,
    datasets,
    disabled_chunks,
    documents,
    hidden,
    is_kept,
    memberships,
    parents,
    searchable,
)


def find_allowlists(
    connection: Connection, tenant_id: str, counts: Mapping[str, int], tree: Tree
) -> dict[str, tuple[Allowlist, int]]:
    """Returns each dataset's allowlist and how many documents match, in one statement.

    A filter that every searchable document passes is no filter.

    Args:
        connection: reads the newest committed state.
        tenant_id: whose datasets they must be.
        counts: of each dataset, how many searchable documents it had a moment ago. What came since
            and does not match can at most take a place, as what comes during the search can.
        tree: the filter.
    """
    rows = connection.execute(
        _MATCHING.where(to_sql(tree, documents.c.filter_values)),
        {"datasets": list(counts), "tenant": tenant_id},
    )
    found: dict[str, tuple[Allowlist, int]] = {
        row.dataset_id: (
            AllDocuments()
            if row.matched == counts[row.dataset_id]
            else TheseDocuments(_unpack(row.seqs)),
            row.matched,
        )
        for row in rows
    }
    return {each: found.get(each, (NoDocuments(), 0)) for each in counts}


def find_hidden(connection: Connection, tenant_id: str, dataset_ids: Sequence[str]) -> BitMap:
    """Returns the `seq`s of documents that are in the index and must not be found."""
    packed = connection.execute(
        select(_packed()).where(
            documents.c.dataset_id.in_(dataset_ids),
            # Not the document's own tenant, for which each row would have to be read.
            exists().where(
                datasets.c.id == documents.c.dataset_id, datasets.c.tenant_id == tenant_id
            ),
            hidden,
        )
    ).scalar_one()
    return BitMap() if packed is None else _unpack(packed)


def find_disabled(
    connection: Connection, tenant_id: str, dataset_ids: Sequence[str]
) -> Sequence[str]:
    """Returns the ids of chunks that are in the index and must not be found."""
    return connection.scalars(
        select(disabled_chunks.c.chunk_id)
        .join(datasets, datasets.c.id == disabled_chunks.c.dataset_id)
        .where(datasets.c.id.in_(dataset_ids), datasets.c.tenant_id == tenant_id)
        .order_by(disabled_chunks.c.chunk_id)
    ).all()


def load_keywords(connection: Connection, chunk_ids: Sequence[str]) -> list[bytes]:
    """Returns the kept keywords of chunks, in the order of the ids; one that is gone has none.

    Asks for no tenant, which would take half as long again: the ids are those that a search bound
    to the tenant found, and what is read is never shown.
    """
    joined = connection.execute(_KEYWORDS, {"ids": join_ids(chunk_ids)}).scalar_one() or b""
    kept = dict(_split(joined))
    return [kept.get(_pack(chunk_id), b"") for chunk_id in chunk_ids]


def _pack(chunk_id: str) -> bytes:
    return bytes.fromhex(chunk_id.replace("-", "")) if is_id(chunk_id) else b""


def _split(joined: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields each id, 16 bytes, with the value that stands behind its length, 4, big-endian."""
    end = 0
    while end < len(joined):
        begin = end + 20
        end = begin + int.from_bytes(joined[begin - 4 : begin])
        yield joined[begin - 20 : begin - 4], joined[begin:end]


class Generation(StrEnum):
    """Which content of its document a chunk belongs to, where that changed during the request."""

    OLD = "old"
    NEW = "new"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordText:
    """A record's text and where it comes from.

    One of an external base has neither chunk nor document, nor a position.

    Attributes:
        content: of a chunk that has a parent, the parent's text.
        child: the chunk's own text, where it has a parent.
        title: what the document calls itself, else its name.
        heading: the path of headings to it, searched with its text and not shown.
    """

    chunk_id: str | None
    document_id: str | None
    dataset_id: str
    content: str
    title: str
    metadata: JsonObject
    position: int | None
    page: int | None
    source: str | None
    generation: Generation
    heading: str = ""
    parent_id: str | None = None
    child: str | None = None

    @property
    def searchable_text(self) -> str:
        """What is embedded and analysed of the chunk: the heading path, then its own text."""
        return put_heading(self.heading, self.content if self.child is None else self.child)


def hydrate(
    connection: Connection,
    tenant_id: str,
    chunk_ids: Sequence[str],
    age: float,
    tree: Tree | None = None,
) -> dict[str, RecordText]:
    """Returns those chunks that this tenant's queries may see now.

    Args:
        connection: reads the newest committed state.
        tenant_id: whose documents they must be.
        chunk_ids: the winners.
        age: seconds since the request began. A chunk that was live then still counts, so that a
            query that runs while a new version goes live never finds neither.
        tree: the query's filter; it holds for what a document is now, whatever it was when the
            allowlist was made.
    """
    texts = _TEXTS
    if tree is not None:
        # The chunks' ids lead to the rows, whatever the filter's values are: one plan is enough.
        texts = texts.where(to_sql(tree, documents.c.filter_values))
    rows = connection.execute(
        texts, {"ids": join_ids(chunk_ids), "tenant": tenant_id, "age": timedelta(seconds=age)}
    )
    return {row.chunk_id: _record_text(row._asdict()) for row in rows}


def _record_text(row: dict[str, Any]) -> RecordText:
    read = {"metadata": row["metadata"] or {}, "generation": Generation(row["generation"])}
    parent = row.pop("parent")
    if parent is not None:
        read |= {"content": parent, "child": row["content"]}
    return RecordText(**row | read)


def _packed() -> Any:
    # One binary value: rows would cost seven times as much for half a million documents.
    return func.string_agg(func.int4send(documents.c.seq), _NOTHING).label("seqs")


def _unpack(packed: bytes) -> BitMap:
    return BitMap(np.frombuffer(packed, dtype=">i4").astype(np.uint32))


_NOTHING = cast(literal_column("''"), BYTEA)

# Nothing in it keeps PostgreSQL from scanning in several processes, as a look-up for each group
# would.
_MATCHING = (
    select(documents.c.dataset_id, func.count().label("matched"), _packed())
    .where(
        documents.c.dataset_id.in_(bindparam("datasets", expanding=True)),
        documents.c.tenant_id == bindparam("tenant"),
        searchable,
    )
    .group_by(documents.c.dataset_id)
)

# Many values come as one: the driver takes long over each row.
_length = func.int4send(func.octet_length(chunks.c.keywords))
_KEYWORDS = (
    select(
        func.string_agg(
            func.uuid_send(chunks.c.id).concat(_length).concat(chunks.c.keywords), _NOTHING
        )
    )
    .where(is_among(chunks.c.id, "ids"))
    .execution_options(**OPTION)
)

_request_began = func.now() - cast(bindparam("age"), Interval)
_was_live = memberships.c.superseded_at > _request_began
_is_live = or_(
    memberships.c.until_version.is_(None), memberships.c.until_version > documents.c.live_version
)
_is_new = and_(
    memberships.c.from_version == documents.c.live_version,
    documents.c.completed_at > _request_began,
)
_generation = case(
    (not_(_is_live), Generation.OLD.value),
    (_is_new, Generation.NEW.value),
    else_=Generation.BOTH.value,
)

_TEXTS = (
    select(
        chunks.c.id.label("chunk_id"),
        chunks.c.text.label("content"),
        parents.c.text.label("parent"),
        chunks.c.heading,
        documents.c.id.label("document_id"),
        documents.c.dataset_id,
        func.coalesce(documents.c.title, documents.c.name).label("title"),
        documents.c.doc_metadata.label("metadata"),
        documents.c.source,
        memberships.c.position,
        memberships.c.page,
        memberships.c.parent_id,
        _generation.label("generation"),
    )
    .join(memberships, memberships.c.chunk_id == chunks.c.id)
    .join(documents, documents.c.id == chunks.c.document_id)
    .outerjoin(parents, parents.c.id == memberships.c.parent_id)
    .where(
        is_among(chunks.c.id, "ids"),
        documents.c.tenant_id == bindparam("tenant"),
        searchable,
        exists().where(datasets.c.id == documents.c.dataset_id, is_kept),
        not_(exists().where(disabled_chunks.c.chunk_id == chunks.c.id)),
        memberships.c.from_version <= documents.c.live_version,
        or_(_is_live, _was_live),
    )
    # The live place of a chunk comes last and wins over one that ended a moment ago.
    .order_by(memberships.c.from_version)
    .execution_options(**OPTION)
)
