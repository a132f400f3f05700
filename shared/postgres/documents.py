"""Documents: what was sent, in which version, and who may see it.

Every write of one goes through `_write`, which keeps `filter_values` and all counts in step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    delete,
    exists,
    func,
    literal,
    not_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from shared.errors import Conflict, NotFound, Overtaken, StaleVersion
from shared.metadata.fields import is_same, move_fields
from shared.metadata.filter_values import Builtins, FilterValues, filter_values
from shared.model import Action, Change, Document, IndexingStatus, JsonObject
from shared.postgres import fields, outbox
from shared.postgres.ids import as_id
from shared.postgres.tables import (
    chunks,
    datasets,
    disabled_chunks,
    documents,
    is_kept,
    unfinished,
)
from shared.postgres.tables import outbox as outboxes
from shared.postgres.versions import draw_version


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """What a user or a source sends of a document; its bytes are in the content store already.

    Attributes:
        version: the sender's own number; None = the next one.
        sequencer: S3's sequencer, hexadecimal, compared right-padded; None where there is none.
        seen_version: the version that the document had before its source was read, 0 for none; a
            document that has another by now is not overwritten with what may be old.
    """

    id: str
    tenant_id: str
    dataset_id: str
    external_id: str | None
    source: str | None
    name: str
    uploader: str
    metadata: JsonObject
    content_key: str
    content_hash: str
    media_type: str
    version: int | None = None
    sequencer: str | None = None
    seen_version: int | None = None


class Effect(Enum):
    """What a write does to a document that exists."""

    NOTHING = "nothing"
    METADATA = "metadata"
    CONTENT = "content"


def judge_write(current: Document, write: DocumentWrite) -> Effect:
    """Tells what a write does to the document it meets; raises `StaleVersion` for an older one.

    The same content again has no effect; with other metadata or another name it needs no indexing.
    A deleted document takes only a newer version, and then all of it.
    """
    held = (current.content_hash, current.media_type)
    same_content = held == (write.content_hash, write.media_type) and current.deleted_at is None
    same_words = is_same(current.metadata, write.metadata) and current.name == write.name
    same_words = same_words and current.source == write.source
    if write.version is not None and write.version <= current.version:
        if write.version == current.version and same_content and same_words:
            return Effect.NOTHING
        raise StaleVersion(
            f"version {write.version} was sent, but the document has version {current.version}"
            + (" with other content" if write.version == current.version else "")
        )
    if _is_late(current, write.sequencer):
        return Effect.NOTHING
    if not same_content or current.indexing_status == IndexingStatus.ERROR:
        return Effect.CONTENT
    if same_words and write.version is None:
        return Effect.NOTHING
    indexed = current.live_version == current.version
    return Effect.METADATA if indexed else Effect.CONTENT


def _is_late(current: Document, sequencer: str | None) -> bool:
    if sequencer is None or current.sequencer is None:
        return False
    width = max(len(sequencer), len(current.sequencer))
    return sequencer.ljust(width, "0").upper() <= current.sequencer.ljust(width, "0").upper()


@dataclass(frozen=True, slots=True)
class Saved:
    """What a write did.

    Attributes:
        change: what to send, maybe what an earlier write left to do; None where nothing is.
        replaced: the content key of bytes that nobody needs any more.
    """

    document: Document
    change: Change | None = None
    replaced: str | None = None


def save_document(connection: Connection, write: DocumentWrite) -> Saved:
    """Stores a write and, where the content has to be indexed, its outbox row.

    Raises:
        StaleVersion: the document has that version or a newer one.
        Overtaken: the document changed since `seen_version`.
    """
    current = _lock(connection, write.tenant_id, write.id) or _insert(connection, write)
    if write.seen_version not in {None, current.version}:
        raise Overtaken
    effect = Effect.CONTENT if current.version == 0 else judge_write(current, write)
    if effect is Effect.METADATA and outbox.find(connection, current.id) is not None:
        effect = Effect.CONTENT  # or the work that waits would be of a version that is no more
    if effect is Effect.NOTHING:
        _note_sequencer(connection, current, write.sequencer)
        return Saved(current, outbox.find(connection, current.id))
    version = write.version if write.version is not None else current.version + 1
    values: dict[str, Any] = {
        "name": write.name,
        "source": write.source,
        "doc_metadata": dict(write.metadata),
        "version": version,
        "sequencer": write.sequencer or current.sequencer,
    }
    if effect is Effect.METADATA:
        return Saved(_write(connection, current, values | {"live_version": version}))
    values |= {
        "uploader": write.uploader,
        "content_key": write.content_key,
        "content_hash": write.content_hash,
        "media_type": write.media_type,
        "indexing_status": IndexingStatus.WAITING,
        "error_code": None,
        "error": None,
    }
    if current.deleted_at is not None:
        values |= {"deleted_at": None, "enabled": True, "archived": False, "live_version": None}
        _renew_chunks(connection, current.id)
    document = _write(connection, current, values)
    change = _change(document, Action.PROCESS)
    outbox.put(connection, change)
    replaced = current.content_key if current.content_key != write.content_key else None
    return Saved(document, change, replaced)


def _renew_chunks(connection: Connection, document_id: str) -> None:
    """Makes what a deletion has not taken away yet as good as new: nothing of it is switched off.

    Nobody knows how much of it the index has forgotten already: all of it is written again.
    """
    own = chunks.c.document_id == document_id
    connection.execute(
        delete(disabled_chunks).where(
            disabled_chunks.c.chunk_id.in_(select(chunks.c.id).where(own))
        )
    )
    connection.execute(update(chunks).where(own).values(index_version=None))


def change_document(
    connection: Connection, tenant_id: str, document_id: str, values: Mapping[str, Any]
) -> Document:
    """Sets what PostgreSQL alone decides: name, doc_metadata, enabled, archived.

    Holds at once for the next query. Raises `NotFound`.
    """
    current = _lock(connection, tenant_id, document_id)
    if current is None or current.deleted_at is not None:
        raise NotFound(f"there is no document {document_id!r}")
    return _write(connection, current, values)


def retry_document(
    connection: Connection, tenant_id: str, document_id: str
) -> tuple[Document, Change | None]:
    """Makes a version that did not become live be processed once more.

    Of one that is live there is nothing to retry.

    Raises:
        NotFound: the tenant has no such document.
        Conflict: nothing was kept of what was sent, so that it has to be sent again.
    """
    current = _lock(connection, tenant_id, document_id)
    if current is None or current.deleted_at is not None:
        raise NotFound(f"there is no document {document_id!r}")
    if current.live_version == current.version:
        return current, outbox.find(connection, current.id)
    if current.content_key is None:
        raise Conflict("nothing is kept of what was sent: send it again")
    values = {"indexing_status": IndexingStatus.WAITING, "error_code": None, "error": None}
    document = _write(connection, current, values)
    change = _change(document, Action.PROCESS)
    outbox.put(connection, change)
    return document, change


def count_documents(connection: Connection) -> dict[str, int]:
    """Returns how many documents that are not deleted each dataset has, if any."""
    rows = connection.execute(
        select(documents.c.dataset_id, func.count().label("documents"))
        .where(documents.c.deleted_at.is_(None))
        .group_by(documents.c.dataset_id)
    )
    return {row.dataset_id: row.documents for row in rows}


def find_unfinished(connection: Connection, after: str | None, most: int) -> list[Document]:
    """Returns documents that have work to do and no outbox row of it, by id, those after one.

    Nothing of ours leaves one so; a hand in the database may.
    """
    statement = (
        select(documents)
        .where(unfinished, not_(exists().where(outboxes.c.document_id == documents.c.id)))
        .order_by(documents.c.id)
        .limit(most)
    )
    if after is not None:
        statement = statement.where(documents.c.id > after)
    return [read_document(row) for row in connection.execute(statement)]


def restart_document(connection: Connection, seen: Document) -> Change | None:
    """Puts the work that an unfinished document lacks; None where it changed since it was seen."""
    current = lock_version(connection, seen)
    if current is None or outbox.find(connection, current.id) is not None:
        return None
    action = Action.PROCESS if current.deleted_at is None else Action.DELETE
    change = _change(current, action)
    outbox.put(connection, change)
    return change


def refuse_source(connection: Connection, write: DocumentWrite, code: str, reason: str) -> None:
    """Puts on a document why its source can't be used now; what is live or waits stays."""
    current = _lock(connection, write.tenant_id, write.id) or _insert(connection, write)
    if _is_late(current, write.sequencer):
        return
    values = {
        "indexing_status": IndexingStatus.ERROR,
        "error_code": code,
        "error": reason,
        "version": max(current.version, 1),
        "sequencer": write.sequencer or current.sequencer,
    }
    _write(connection, current, values)


def end_source(connection: Connection, write: DocumentWrite) -> Change | None:
    """Deletes the document of a source that is gone.

    A removal that comes before what it removes leaves a tombstone for it. Returns what is to do.
    """
    current = _lock(connection, write.tenant_id, write.id)
    if current is None:
        if write.sequencer is None:
            return None
        current = _insert(connection, write)
    if current.version == 0:
        values = {"version": 1, "sequencer": write.sequencer, "deleted_at": datetime.now(UTC)}
        _write(connection, current, values)
        return None
    return delete_document(connection, write.tenant_id, write.id, sequencer=write.sequencer)[1]


def delete_document(
    connection: Connection,
    tenant_id: str,
    document_id: str,
    version: int | None = None,
    sequencer: str | None = None,
) -> tuple[Document, Change | None]:
    """Leaves a tombstone and the outbox row that takes the chunks away; raises `NotFound`.

    Deleting again, or late, after something newer, is fine: it asks only for what is left to do.
    """
    current = _lock(connection, tenant_id, document_id)
    if current is None:
        raise NotFound(f"there is no document {document_id!r}")
    if current.deleted_at is not None or _is_late(current, sequencer):
        _note_sequencer(connection, current, sequencer)
        return current, outbox.find(connection, current.id)
    if version is not None and version <= current.version:
        raise StaleVersion(f"the document has version {current.version} already")
    values = {
        "deleted_at": datetime.now(UTC),
        "version": version if version is not None else current.version + 1,
        "sequencer": sequencer or current.sequencer,
        "index_version": draw_version(connection),
    }
    document = _write(connection, current, values)
    change = _change(document, Action.DELETE)
    outbox.put(connection, change)
    return document, change


def _note_sequencer(connection: Connection, current: Document, sequencer: str | None) -> None:
    # What changes nothing still is the newest that is known: what comes late must not pass it.
    if sequencer is not None and not _is_late(current, sequencer):
        connection.execute(
            update(documents).where(documents.c.id == current.id).values(sequencer=sequencer)
        )


def get_document(connection: Connection, tenant_id: str, document_id: str) -> Document:
    """Returns a document that is not deleted, nor its dataset; raises `NotFound`."""
    row = connection.execute(
        _of(tenant_id, document_id).where(
            documents.c.deleted_at.is_(None),
            exists().where(datasets.c.id == documents.c.dataset_id, is_kept),
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"there is no document {document_id!r}")
    return read_document(row)


def find_document(connection: Connection, tenant_id: str, document_id: str) -> Document | None:
    """Returns a document, deleted ones too; None where the tenant never had it."""
    row = connection.execute(_of(tenant_id, document_id)).one_or_none()
    return None if row is None else read_document(row)


def _of(tenant_id: str, document_id: str) -> Select[Any]:
    return select(documents).where(
        documents.c.id == as_id(document_id), documents.c.tenant_id == tenant_id
    )


def count_statuses(connection: Connection, dataset_id: str) -> dict[IndexingStatus, int]:
    """Returns how many documents that are not deleted have each status, if any has."""
    rows = connection.execute(
        select(documents.c.indexing_status, func.count())
        .where(documents.c.dataset_id == dataset_id, documents.c.deleted_at.is_(None))
        .group_by(documents.c.indexing_status)
    )
    return {IndexingStatus(status): count for status, count in rows}


def list_documents(
    connection: Connection,
    tenant_id: str,
    dataset_id: str,
    *,
    status: IndexingStatus | None,
    after: tuple[datetime, str] | None,
    limit: int,
) -> list[Document]:
    """Returns documents that are not deleted, by (created_at, id), those after a place."""
    place = tuple_(documents.c.created_at, documents.c.id)
    statement = (
        select(documents)
        .where(
            documents.c.tenant_id == tenant_id,
            documents.c.dataset_id == dataset_id,
            documents.c.deleted_at.is_(None),
        )
        .order_by(documents.c.created_at, documents.c.id)
        .limit(limit)
    )
    if status is not None:
        statement = statement.where(documents.c.indexing_status == status)
    if after is not None:
        statement = statement.where(place > after)
    return [read_document(row) for row in connection.execute(statement)]


def set_progress(connection: Connection, document: Document, status: IndexingStatus) -> None:
    """Shows how far the processing of this version has come; a newer version's status stays."""
    connection.execute(
        update(documents)
        .where(documents.c.id == document.id, documents.c.version == document.version)
        .values(indexing_status=status, status_since=func.now())
    )


def fail_document(connection: Connection, document: Document, code: str, reason: str) -> bool:
    """Puts the reason on the document; False where this version is not the newest any more."""
    current = _lock(connection, document.tenant_id, document.id)
    if current is None or current.version != document.version:
        return False
    failed = {"indexing_status": IndexingStatus.ERROR, "error_code": code, "error": reason}
    write_locked(connection, current, failed)
    return True


def lock_version(connection: Connection, document: Document) -> Document | None:
    """Locks a document's row and returns it, if this version and write are still its newest."""
    current = _lock(connection, document.tenant_id, document.id)
    if current is None or (current.version, current.index_version) != (
        document.version,
        document.index_version,
    ):
        return None
    return current


def write_locked(connection: Connection, locked: Document, values: Mapping[str, Any]) -> Document:
    """Sets columns of a locked row on the system's own account: last_update_date stays."""
    return _write(connection, locked, values, locked.updated_at)


def _lock(connection: Connection, tenant_id: str, document_id: str) -> Document | None:
    row = connection.execute(_of(tenant_id, document_id).with_for_update()).one_or_none()
    return None if row is None else read_document(row)


def _insert(connection: Connection, write: DocumentWrite) -> Document:
    # Version 0 stands for "nothing was sent yet"; the caller's transaction replaces it.
    values: dict[str, Any] = {
        "id": write.id,
        "tenant_id": write.tenant_id,
        "external_id": write.external_id,
        "name": write.name,
        "uploader": write.uploader,
        "version": 0,
        "indexing_status": IndexingStatus.WAITING.value,
        "filter_values": {},
    }
    sent = [literal(value, documents.c[name].type) for name, value in values.items()]
    # A dataset that is deleted in the meantime takes none, and is not forgotten before this is in.
    kept = (
        select(datasets.c.id, func.now(), *sent)
        .where(datasets.c.id == write.dataset_id, is_kept)
        .with_for_update(key_share=True, read=True)
    )
    connection.execute(
        insert(documents)
        .from_select(["dataset_id", "updated_at", *values], kept)
        .on_conflict_do_nothing()
    )
    inserted = _lock(connection, write.tenant_id, write.id)
    if inserted is None:
        raise NotFound(f"there is no dataset {write.dataset_id!r}")
    return inserted


def _write(
    connection: Connection,
    current: Document,
    values: Mapping[str, Any],
    updated_at: datetime | None = None,
) -> Document:
    columns = {**values, "updated_at": updated_at or datetime.now(UTC)}
    if columns.get("indexing_status", current.indexing_status) != current.indexing_status:
        columns["status_since"] = datetime.now(UTC)
    if "doc_metadata" in columns:
        moves = fields.lock_moves(connection, current.dataset_id)
        columns["doc_metadata"] = move_fields(columns["doc_metadata"], moves)
    after = replace(current, **_name_metadata(columns))
    row = connection.execute(
        update(documents)
        .where(documents.c.id == current.id)
        .values(**columns, filter_values=read_filter_values(after))
        .returning(documents)
    ).one()
    written = read_document(row)
    _count(connection, current, written)
    fields.observe(connection, after.dataset_id, [(list_observed(current), list_observed(written))])
    return written


def read_filter_values(document: Document) -> FilterValues:
    """Returns what filters see of a document."""
    builtins = Builtins(
        document_name=document.name,
        uploader=document.uploader,
        upload_date=document.created_at,
        last_update_date=document.updated_at,
        source=document.source,
    )
    return filter_values(document.metadata, builtins)


def list_observed(document: Document) -> JsonObject:
    """Returns the metadata of a document that counts for its dataset's fields."""
    return {} if document.deleted_at is not None else document.metadata


def _count(connection: Connection, before: Document, after: Document) -> None:
    searchable = _is_searchable(after) - _is_searchable(before)
    hidden = _is_hidden(after) - _is_hidden(before)
    if searchable or hidden:
        connection.execute(
            update(datasets)
            .where(datasets.c.id == after.dataset_id)
            .values(
                searchable_count=datasets.c.searchable_count + searchable,
                hidden_count=datasets.c.hidden_count + hidden,
            )
        )


def _is_searchable(document: Document) -> bool:
    return document.live_version is not None and document.is_visible


def _is_hidden(document: Document) -> bool:
    return document.live_version is not None and not document.is_visible


def _change(document: Document, action: Action) -> Change:
    return Change(document.tenant_id, document.dataset_id, document.id, document.version, action)


def read_document(row: Row[Any]) -> Document:
    """Returns the document of a whole row."""
    values = _name_metadata(row._asdict())
    values["metadata"] = values["metadata"] or {}
    values["indexing_status"] = IndexingStatus(values["indexing_status"])
    del values["filter_values"]
    return Document(**values)


def _name_metadata(columns: dict[str, Any]) -> dict[str, Any]:
    return {("metadata" if name == "doc_metadata" else name): columns[name] for name in columns}
