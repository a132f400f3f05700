"""The tables, as `functions/migrate` makes them; a test holds the two together."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Sequence,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    and_,
    func,
    literal_column,
    not_,
    or_,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.metadata.fields import COUNTS
from shared.model import IndexingStatus

metadata = MetaData()

index_versions = Sequence("index_versions", data_type=BigInteger, metadata=metadata)
"""OpenSearch's external versions, drawn inside the transaction that wins."""

document_seqs = Sequence("document_seqs", data_type=Integer, metadata=metadata)
"""A document's number in bitmaps, drawn only for a new document."""


def _id() -> Uuid[str]:
    return Uuid(as_uuid=False)


def _instant() -> DateTime:
    return DateTime(timezone=True)


def _made() -> Column[object]:
    return Column("created_at", _instant(), nullable=False, server_default=func.now())


tenants = Table(
    "tenants",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("name", Text, nullable=False),
    _made(),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("tenant_id", _id(), ForeignKey("tenants.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("key_hash", LargeBinary, nullable=False, unique=True),
    Column("scopes", JSONB, nullable=False),
    Column("dataset_ids", JSONB),
    Column("expires_at", _instant()),
    Column("revoked_at", _instant()),
    _made(),
)

datasets = Table(
    "datasets",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("tenant_id", _id(), ForeignKey("tenants.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("provider", Text, nullable=False, server_default="internal"),
    Column("indexing_technique", Text, nullable=False),
    Column("embedding_provider", Text, nullable=False),
    Column("embedding_model", Text, nullable=False),
    Column("embedding_dimension", Integer, nullable=False),
    Column("retrieval", JSONB, nullable=False, server_default="{}"),
    Column("chunking", JSONB, nullable=False, server_default="{}"),
    Column("external", JSONB),
    # {name: new name, or null where the field goes}: what is written follows it at once.
    Column("field_moves", JSONB, nullable=False, server_default="{}"),
    Column("searchable_count", Integer, nullable=False, server_default="0"),
    Column("hidden_count", Integer, nullable=False, server_default="0"),
    # True still where the last chunk that was off is no more.
    Column("has_disabled_chunks", Boolean, nullable=False, server_default=text("false")),
    _made(),
    Column("updated_at", _instant(), nullable=False, server_default=func.now()),
    # From then on it is unknown to everybody but those who clear it away.
    Column("deleted_at", _instant()),
)

is_kept = datasets.c.deleted_at.is_(None)
"""A dataset that there is: not one that is being deleted."""

Index(
    "datasets_name_once",
    datasets.c.tenant_id,
    datasets.c.name,
    unique=True,
    postgresql_where=is_kept,
)

metadata_fields = Table(
    "metadata_fields",
    metadata,
    Column("dataset_id", _id(), ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    # Null while no value tells it.
    Column("type", Text),
    Column("declared", Boolean, nullable=False),
    _made(),
    *(Column(each, Integer, nullable=False, server_default="0") for each in COUNTS),
)

documents = Table(
    "documents",
    metadata,
    Column("id", _id(), primary_key=True),
    Column(
        "seq", Integer, document_seqs, server_default=document_seqs.next_value(), nullable=False
    ),
    Column("tenant_id", _id(), ForeignKey("tenants.id"), nullable=False),
    Column("dataset_id", _id(), ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
    Column("external_id", Text),
    Column("source", Text),
    Column("name", Text, nullable=False),
    Column("uploader", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("sequencer", Text),
    Column("live_version", BigInteger),
    Column("index_version", BigInteger),
    Column("content_key", Text),
    Column("media_type", Text),
    Column("content_hash", Text),
    # What the content says of itself, and how it was read.
    Column("title", Text),
    Column("encoding", Text),
    Column("guessed", Boolean, nullable=False, server_default=text("false")),
    Column("left_out", JSONB, nullable=False, server_default="[]"),
    Column("chunking", JSONB),
    Column("indexing_status", Text, nullable=False),
    Column("error_code", Text),
    Column("error", Text),
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    Column("archived", Boolean, nullable=False, server_default=text("false")),
    Column("doc_metadata", JSONB),
    Column("filter_values", JSONB, nullable=False),
    _made(),
    Column("updated_at", _instant(), nullable=False),
    Column("completed_at", _instant()),
    Column("deleted_at", _instant()),
    Column("status_since", _instant(), nullable=False, server_default=func.now()),
    UniqueConstraint("seq", name="documents_seq_once"),
    UniqueConstraint("dataset_id", "external_id", name="documents_external_id_once"),
)

_visible = and_(documents.c.enabled, not_(documents.c.archived), documents.c.deleted_at.is_(None))
searchable = and_(documents.c.live_version.is_not(None), _visible)
"""A document that queries may find: some version of it is live, and nothing hides it."""

hidden = and_(documents.c.live_version.is_not(None), not_(_visible))
"""A document that is in the index and must not be found: disabled, archived, or being deleted."""


def pick_kind(column: ColumnElement[Any], kind: str) -> ColumnElement[Any]:
    """Returns one kind of the `FilterValues` in a column, as the indexes have it."""
    return column.op("->", return_type=JSONB())(literal_column(f"'{kind}'"))


# One a kind: of an index's expression, other than of the whole column, PostgreSQL knows how often
# values come, so that it scans where half of the documents match. Instants are never looked up.
for _kind in ("values", "numbers", "booleans", "filled"):
    Index(
        f"documents_{_kind}",
        pick_kind(documents.c.filter_values, _kind).label(_kind),
        postgresql_using="gin",
        postgresql_ops={_kind: "jsonb_path_ops"},
        # Without a list of pending entries, which each look-up would have to read through.
        postgresql_with={"fastupdate": "off"},
    )
Index("documents_searchable", documents.c.dataset_id, documents.c.seq, postgresql_where=searchable)
Index("documents_hidden", documents.c.dataset_id, documents.c.seq, postgresql_where=hidden)

_is_over = documents.c.indexing_status.in_([IndexingStatus.COMPLETED, IndexingStatus.ERROR])
_is_gone = documents.c.deleted_at.is_not(None)
is_kept_in_part = or_(documents.c.live_version.is_not(None), documents.c.content_key.is_not(None))
"""Of a deleted document: its chunks or its content are still to be cleared away."""

unfinished = or_(and_(_is_gone, is_kept_in_part), and_(not_(_is_gone), not_(_is_over)))
"""A document that has work to do, so that the outbox must have a row of it."""

Index("documents_unfinished", documents.c.id, postgresql_where=unfinished)
Index("documents_newest", documents.c.dataset_id, documents.c.created_at, documents.c.id)
Index(
    "documents_status",
    documents.c.dataset_id,
    documents.c.indexing_status,
    documents.c.created_at,
    documents.c.id,
    postgresql_where=documents.c.deleted_at.is_(None),
)

chunks = Table(
    "chunks",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("document_id", _id(), ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
    Column("heading", Text, nullable=False),
    Column("keywords", LargeBinary, nullable=False),
    Column("vector", LargeBinary),
    # The external version the search index holds it under; null while it is not there.
    Column("index_version", BigInteger),
)
Index("chunks_document", chunks.c.document_id)

# Apart from the chunks, which never change: few, and named in every query of their dataset.
disabled_chunks = Table(
    "disabled_chunks",
    metadata,
    Column("chunk_id", _id(), ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("dataset_id", _id(), ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
)
Index("disabled_chunks_dataset", disabled_chunks.c.dataset_id)

# What is returned in place of chunks that are only searched.
parents = Table(
    "chunk_parents",
    metadata,
    Column("id", _id(), primary_key=True),
    Column("document_id", _id(), ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
)
Index("chunk_parents_document", parents.c.document_id)

memberships = Table(
    "chunk_memberships",
    metadata,
    Column("chunk_id", _id(), ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("from_version", BigInteger, primary_key=True),
    Column("until_version", BigInteger),
    Column("document_id", _id(), ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("page", Integer),
    Column("char_start", Integer),
    Column("char_end", Integer),
    Column("superseded_at", _instant()),
    Column("parent_id", _id(), ForeignKey("chunk_parents.id")),
)
Index("chunk_memberships_document", memberships.c.document_id)
Index(
    "chunk_memberships_parent",
    memberships.c.parent_id,
    postgresql_where=memberships.c.parent_id.is_not(None),
)

outbox = Table(
    "outbox",
    metadata,
    Column("document_id", _id(), ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("tenant_id", _id(), nullable=False),
    Column("dataset_id", _id(), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("action", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("available_at", _instant(), nullable=False, server_default=func.now()),
    Column("last_error", Text),
    Column("token", _id()),
    _made(),
)
Index("outbox_available", outbox.c.available_at)

index_builds = Table(
    "index_builds",
    metadata,
    Column("embedding_provider", Text, primary_key=True),
    Column("embedding_model", Text, primary_key=True),
    Column("embedding_dimension", Integer, primary_key=True),
    # Drawn anew whenever a build begins, goes on after an interruption, or ends.
    Column("token", _id(), nullable=False),
    Column("is_under_way", Boolean, nullable=False),
)

reconcile_place = Table(
    "reconcile_place",
    metadata,
    # One row at most: where the next call of an unfinished run goes on.
    Column("is_only", Boolean, CheckConstraint("is_only"), primary_key=True),
    Column("place", JSONB, nullable=False),
)
