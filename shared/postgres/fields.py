"""Metadata fields: declared by users, or inferred from what documents hold.

Whoever writes metadata reads the dataset's moves first, and counts last: the dataset's row is
locked before the rows of fields, and these in the order of their names.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    Row,
    Text,
    Uuid,
    bindparam,
    cast,
    column,
    delete,
    false,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert

from shared.errors import Conflict, NotFound
from shared.metadata.fields import COUNTS, Field, FieldType, Moves, count_changes
from shared.model import JsonObject
from shared.postgres.tables import datasets, metadata_fields

_fields = metadata_fields.c


def list_fields(
    connection: Connection,
    dataset_ids: Sequence[str],
    *,
    after: str | None = None,
    limit: int = 500,
) -> list[Field]:
    """Returns the fields that are declared or that a document has, by name, after a name.

    A field that several datasets have comes once for each. Fields that are being renamed or deleted
    are not there any more.
    """
    statement = (
        select(metadata_fields)
        .join(datasets, datasets.c.id == _fields.dataset_id)
        .where(
            _fields.dataset_id.in_(dataset_ids),
            _is_there,
            not_(func.jsonb_exists(datasets.c.field_moves, _fields.name)),
        )
        .order_by(_fields.name)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(_fields.name > after)
    return [_field(row) for row in connection.execute(statement)]


def list_declared(connection: Connection, dataset_id: str) -> dict[str, FieldType]:
    """Returns the types that values must fit, by names in NFC."""
    rows = connection.execute(
        select(_fields.name, _fields.type).where(_fields.dataset_id == dataset_id, _fields.declared)
    )
    return {row.name: FieldType(row.type) for row in rows}


def find_field(connection: Connection, dataset_id: str, name: str) -> Field | None:
    """Returns a field that is declared or that a document has; None where there is none."""
    row = _find(connection, dataset_id, name)
    return None if row is None else _field(row)


def declare_field(connection: Connection, dataset_id: str, name: str, kind: FieldType) -> Field:
    """Makes a field's type one that values must fit from now on.

    Values that are there already stay; the field tells how many do not fit.

    Raises:
        Conflict: the field is declared already, or is being renamed or deleted.
    """
    _refuse_moving(name, lock_moves(connection, dataset_id))
    field = _find(connection, dataset_id, name)
    if field is not None and field.declared:
        raise Conflict(f"the field {name!r} is declared already")
    return _field(_put(connection, dataset_id, name, {"type": kind, "declared": True}))


def change_type(connection: Connection, dataset_id: str, name: str, kind: FieldType) -> Field:
    """Declares another type for a field; raises `NotFound`, or `Conflict` while it moves."""
    _refuse_moving(name, lock_moves(connection, dataset_id))
    row = connection.execute(
        update(metadata_fields)
        .where(*_named(dataset_id, name), _is_there)
        .values(type=kind, declared=True)
        .returning(metadata_fields)
    ).one_or_none()
    if row is None:
        raise NotFound(f"there is no field {name!r}")
    return _field(row)


def find_moves(connection: Connection, dataset_id: str) -> Moves:
    """Returns the fields that are being renamed or deleted."""
    moves: Moves = connection.execute(
        select(datasets.c.field_moves).where(datasets.c.id == dataset_id)
    ).scalar_one()
    return moves


def lock_moves(connection: Connection, dataset_id: str) -> Moves:
    """Returns the moves under way; none begins or ends before this transaction does.

    Writers keep each other off by nothing here.
    """
    moves: Moves = connection.execute(
        select(datasets.c.field_moves)
        .where(datasets.c.id == dataset_id)
        .with_for_update(read=True, key_share=True)
    ).scalar_one()
    return moves


def begin_move(connection: Connection, dataset_id: str, name: str, target: str | None) -> None:
    """Makes whatever is written from now on go by a field's new name, or do without the field.

    Waits for writers who do not know of it yet. Beginning the same move again is fine.

    Raises:
        NotFound: there is no such field.
        Conflict: the new name is taken, or another move has one of the names.
    """
    moves = _lock_dataset(connection, dataset_id)
    if name in moves and moves[name] == target:
        return
    for each in (name, target):
        _refuse_moving(each, moves)
        if each is not None and each in moves.values():
            raise Conflict(f"a field is being renamed to {each!r}; ask for that again first")
    row = _find(connection, dataset_id, name)
    if row is None:
        raise NotFound(f"there is no field {name!r}")
    if target is not None:
        if _find(connection, dataset_id, target) is not None:
            raise Conflict(f"there is a field {target!r} already")
        _put(connection, dataset_id, target, {"type": row.type, "declared": row.declared})
    _set_moves(connection, dataset_id, {**moves, name: target})


def finish_move(connection: Connection, dataset_id: str, name: str) -> None:
    """Forgets a field that no document has any more."""
    moves = dict(_lock_dataset(connection, dataset_id))
    if name in moves:  # else somebody else has finished it
        del moves[name]
        _set_moves(connection, dataset_id, moves)
        connection.execute(delete(metadata_fields).where(*_named(dataset_id, name)))


def observe(
    connection: Connection, dataset_id: str, pairs: Iterable[tuple[JsonObject, JsonObject]]
) -> None:
    """Counts what writes change, and infers a type for each field that is new.

    Args:
        connection: inside the transaction that writes, after `lock_moves`.
        dataset_id: whose documents they are.
        pairs: the metadata of each document before and after; {} of one that is deleted.
    """
    counts = count_changes(pairs)
    if counts:
        connection.execute(_COUNT, {"dataset": dataset_id, "counts": counts})
    if any(each["documents"] < 0 for each in counts):
        names = [each["name"] for each in counts]
        connection.execute(
            delete(metadata_fields).where(
                _fields.dataset_id == dataset_id, _fields.name.in_(names), not_(_is_there)
            )
        )


def _lock_dataset(connection: Connection, dataset_id: str) -> Moves:
    moves: Moves = connection.execute(
        select(datasets.c.field_moves).where(datasets.c.id == dataset_id).with_for_update()
    ).scalar_one()
    return moves


def _set_moves(connection: Connection, dataset_id: str, moves: Moves) -> None:
    connection.execute(
        update(datasets).where(datasets.c.id == dataset_id).values(field_moves=dict(moves))
    )


def _refuse_moving(name: str | None, moves: Moves) -> None:
    if name is not None and name in moves:
        how = "deleted" if moves[name] is None else f"renamed to {moves[name]!r}"
        raise Conflict(f"the field {name!r} is being {how}; ask for that again first")


def _find(connection: Connection, dataset_id: str, name: str) -> Row[Any] | None:
    return connection.execute(
        select(metadata_fields).where(*_named(dataset_id, name), _is_there)
    ).one_or_none()


def _put(connection: Connection, dataset_id: str, name: str, values: dict[str, Any]) -> Row[Any]:
    return connection.execute(
        insert(metadata_fields)
        .values(dataset_id=dataset_id, name=name, **values)
        .on_conflict_do_update(index_elements=[_fields.dataset_id, _fields.name], set_=values)
        .returning(metadata_fields)
    ).one()


def _named(dataset_id: str, name: str) -> tuple[Any, Any]:
    return _fields.dataset_id == dataset_id, _fields.name == name


def _field(row: Row[Any]) -> Field:
    # Of null, blank text and objects alone nobody can tell more.
    kind = FieldType(row.type or FieldType.STRING)
    misfits = row.documents - getattr(row, f"fit_{kind}")
    return Field(row.name, kind, row.declared, row.documents, misfits)


_is_there = or_(_fields.declared, _fields.documents > 0)

# One parameter for all fields: the driver takes long over each. Their order keeps writers from
# waiting for each other in a ring.
_counted = (
    func.jsonb_to_recordset(bindparam("counts", type_=JSONB))
    .table_valued(
        column("name", Text), column("type", Text), *(column(each, Integer) for each in COUNTS)
    )
    .render_derived(name="counted", with_types=True)
)
_seen = insert(metadata_fields).from_select(
    ["dataset_id", "name", "type", "declared", *COUNTS],
    select(
        cast(bindparam("dataset"), Uuid(as_uuid=False)),
        _counted.c.name,
        _counted.c.type,
        false(),
        *(_counted.c[each] for each in COUNTS),
    ).order_by(_counted.c.name),
)
_COUNT = _seen.on_conflict_do_update(
    index_elements=[_fields.dataset_id, _fields.name],
    set_={
        "type": func.coalesce(_fields.type, _seen.excluded.type),
        **{each: _fields[each] + _seen.excluded[each] for each in COUNTS},
    },
)
