"""Renaming and deleting a metadata field: carried to its documents, a bounded batch at a time.

First the dataset says what becomes of the field, and whoever writes a document follows that; then
the documents that are there are written again; then it is forgotten. Whoever dies on the way leaves
the first, and asking for the same again finishes it.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Subquery,
    Text,
    Uuid,
    bindparam,
    case,
    column,
    func,
    literal_column,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.metadata.fields import Moves, move_fields
from shared.model import Document
from shared.postgres.documents import list_observed, read_document, read_filter_values
from shared.postgres.engine import read, transaction
from shared.postgres.fields import begin_move, find_field, finish_move, lock_moves, observe
from shared.postgres.tables import documents

BATCH = 500
"""The most documents that one transaction looks at, and rewrites."""

type _Place = tuple[datetime, str]


def move_field(
    engine: Engine, dataset_id: str, name: str, target: str | None, seconds: float
) -> int:
    """Renames a field, or deletes it, in the metadata of its documents.

    No search index is written, and each document holds for the next query.

    Args:
        engine: the database.
        dataset_id: a dataset that there is.
        name: of the field, in NFC.
        target: the new name, in NFC; None deletes the field.
        seconds: once something is rewritten, no batch begins after so long.

    Returns:
        How many documents are left for the same call again; 0 once all is done.

    Raises:
        NotFound: there is no such field.
        Conflict: the new name is taken, or another move has one of the names.
    """
    end = time.monotonic() + seconds
    with transaction(engine) as connection:
        begin_move(connection, dataset_id, name, target)
    place: _Place | None = None
    while True:
        with transaction(engine) as connection:
            place, is_rewritten = _rewrite_batch(connection, dataset_id, name, place)
        if place is None:
            break
        if is_rewritten and time.monotonic() > end:
            return _count_left(engine, dataset_id, name)
    with transaction(engine) as connection:
        finish_move(connection, dataset_id, name)
    return 0


def _rewrite_batch(
    connection: Connection, dataset_id: str, name: str, after: _Place | None
) -> tuple[_Place | None, bool]:
    """Rewrites those of the next documents that have the field.

    Returns:
        The place of the last one that was looked at, None where there is none; and whether
        any was rewritten.
    """
    window = _list_next(dataset_id, after)
    last = connection.execute(
        select(window).order_by(window.c.created_at.desc(), window.c.id.desc()).limit(1)
    ).one_or_none()
    if last is None:
        return None, False
    page = _lock_those(connection, window, name)
    if page:
        _rewrite(connection, dataset_id, page)
    return (last.created_at, last.id), bool(page)


def _rewrite(connection: Connection, dataset_id: str, page: Sequence[Document]) -> None:
    moves = lock_moves(connection, dataset_id)
    moved = [_move(document, moves) for document in page]
    rows = [
        {"id": each.id, "doc_metadata": each.metadata, "filter_values": read_filter_values(each)}
        for each in moved
    ]
    connection.execute(_REWRITE, {"rows": rows})
    pairs = [
        (list_observed(before), list_observed(after))
        for before, after in zip(page, moved, strict=True)
    ]
    observe(connection, dataset_id, pairs)


def _move(document: Document, moves: Moves) -> Document:
    return replace(document, metadata=move_fields(document.metadata, moves))


def _list_next(dataset_id: str, after: _Place | None) -> Subquery:
    # Tombstones too: what is sent after them may take up their metadata.
    place = documents.c.created_at, documents.c.id
    statement = select(*place).where(documents.c.dataset_id == dataset_id)
    if after is not None:
        statement = statement.where(tuple_(*place) > after)
    return statement.order_by(*place).limit(BATCH).subquery("next")


def _lock_those(connection: Connection, window: Subquery, name: str) -> list[Document]:
    statement = (
        select(documents)
        .join(window, window.c.id == documents.c.id)
        .where(_has_field(name))
        .order_by(documents.c.created_at, documents.c.id)
        .with_for_update(of=documents)
    )
    return [read_document(row) for row in connection.execute(statement)]


def _has_field(name: str) -> ColumnElement[bool]:
    """Returns the condition that metadata has a name, in whatever Unicode form it was sent."""
    is_object = func.jsonb_typeof(documents.c.doc_metadata) == "object"
    keys = func.jsonb_object_keys(
        case((is_object, documents.c.doc_metadata), else_=literal_column("'{}'::jsonb"))
    ).table_valued(column("name", Text))
    return (
        select(literal_column("1"))
        .select_from(keys)
        .where(func.normalize(keys.c.name, literal_column("NFC")) == name)
        .exists()
    )


def _count_left(engine: Engine, dataset_id: str, name: str) -> int:
    with read(engine) as connection:
        field = find_field(connection, dataset_id, name)
    return max(1, field.values if field else 0)


_rows: Any = (
    func.jsonb_to_recordset(bindparam("rows", type_=JSONB))
    .table_valued(
        column("id", Uuid(as_uuid=False)),
        column("doc_metadata", JSONB),
        column("filter_values", JSONB),
    )
    .render_derived(name="moved", with_types=True)
)
_REWRITE = (
    update(documents)
    .where(documents.c.id == _rows.c.id)
    .values(doc_metadata=_rows.c.doc_metadata, filter_values=_rows.c.filter_values)
)
