"""Datasets: the rows behind knowledge bases. Every statement is bound to the tenant.

One that is being deleted (`shared.postgres.removals`) is one that there is not.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from shared.errors import Conflict, NotFound
from shared.model import (
    Chunking,
    Dataset,
    Document,
    EmbeddingSpace,
    ExternalBase,
    IndexingTechnique,
    JsonObject,
    Strategy,
)
from shared.postgres.ids import as_id, is_among, join_ids
from shared.postgres.prepared import OPTION
from shared.postgres.tables import datasets, is_kept


def create_dataset(
    connection: Connection,
    *,
    tenant_id: str,
    name: str,
    description: str,
    indexing_technique: IndexingTechnique,
    space: EmbeddingSpace,
    retrieval: JsonObject,
    chunking: Chunking,
    external: ExternalBase | None = None,
) -> Dataset:
    """Makes a dataset; raises `Conflict` where the tenant has one of that name."""
    statement = (
        insert(datasets)
        .values(
            id=str(uuid4()),
            tenant_id=tenant_id,
            name=name,
            description=description,
            provider="internal" if external is None else "external",
            external=None if external is None else asdict(external),
            indexing_technique=indexing_technique,
            embedding_provider=space.provider,
            embedding_model=space.model,
            embedding_dimension=space.dimension,
            retrieval=dict(retrieval),
            chunking=asdict(chunking),
        )
        .returning(datasets)
    )
    try:
        row = connection.execute(statement).one()
    except IntegrityError as error:
        raise Conflict(f"a dataset named {name!r} exists already") from error
    return _dataset(row)


def get_dataset(connection: Connection, tenant_id: str, dataset_id: str) -> Dataset:
    """Returns one dataset; raises `NotFound` where the tenant has none of that id."""
    return get_datasets(connection, tenant_id, [dataset_id])[0]


def get_datasets(
    connection: Connection, tenant_id: str, dataset_ids: Sequence[str]
) -> list[Dataset]:
    """Returns datasets, each once, in the order asked; raises `NotFound` naming an unknown id."""
    ids = {sent: as_id(sent) for sent in dataset_ids}
    known = join_ids(id_ for id_ in ids.values() if id_ is not None)
    rows = connection.execute(_NAMED, {"tenant": as_id(tenant_id), "ids": known})
    found = {row.id: _dataset(row) for row in rows}
    for sent, id_ in ids.items():
        if id_ not in found:
            raise NotFound(f"there is no dataset {sent!r}")
    return [found[id_] for id_ in dict.fromkeys(ids.values()) if id_ is not None]


def find_dataset(connection: Connection, dataset_id: str) -> Dataset | None:
    """Returns the dataset of an id that a source of ours named, whatever its tenant."""
    row = connection.execute(
        select(datasets).where(datasets.c.id == dataset_id, is_kept)
    ).one_or_none()
    return None if row is None else _dataset(row)


def read_owner(connection: Connection, document: Document) -> Dataset:
    """Returns the dataset of a document, also of one whose deletion is still to be carried out."""
    return _dataset(
        connection.execute(select(datasets).where(datasets.c.id == document.dataset_id)).one()
    )


def list_datasets(connection: Connection, tenant_id: str) -> list[Dataset]:
    """Returns all datasets of a tenant, by name."""
    rows = connection.execute(
        select(datasets).where(datasets.c.tenant_id == tenant_id, is_kept).order_by(datasets.c.name)
    )
    return [_dataset(row) for row in rows]


def name_datasets(connection: Connection) -> dict[str, str]:
    """Returns the names of all datasets that keep chunks here, whatever their tenant, by id."""
    rows = connection.execute(
        select(datasets.c.id, datasets.c.name).where(datasets.c.provider == "internal")
    )
    return {row.id: row.name for row in rows}


def change_dataset(
    connection: Connection, tenant_id: str, dataset_id: str, values: dict[str, Any]
) -> Dataset:
    """Sets columns of one dataset; raises `NotFound` or, for a name that is taken, `Conflict`."""
    statement = (
        update(datasets)
        .where(datasets.c.tenant_id == tenant_id, datasets.c.id == as_id(dataset_id), is_kept)
        .values(values)
        .returning(datasets)
    )
    try:
        row = connection.execute(statement).one_or_none()
    except IntegrityError as error:
        raise Conflict(f"a dataset named {values.get('name')!r} exists already") from error
    if row is None:
        raise NotFound(f"there is no dataset {dataset_id!r}")
    return _dataset(row)


def _dataset(row: Row[Any]) -> Dataset:
    return Dataset(
        id=row.id,
        tenant_id=row.tenant_id,
        name=row.name,
        description=row.description,
        indexing_technique=IndexingTechnique(row.indexing_technique),
        space=EmbeddingSpace(row.embedding_provider, row.embedding_model, row.embedding_dimension),
        external=None if row.external is None else ExternalBase(**row.external),
        retrieval=row.retrieval,
        chunking=_read_chunking(row.chunking),
        searchable_count=row.searchable_count,
        hidden_count=row.hidden_count,
        has_disabled_chunks=row.has_disabled_chunks,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _read_chunking(kept: JsonObject) -> Chunking:
    chunking = Chunking(**kept)
    return replace(chunking, strategy=Strategy(chunking.strategy))


_NAMED = (
    select(datasets)
    .where(datasets.c.tenant_id == bindparam("tenant"), is_among(datasets.c.id, "ids"), is_kept)
    .execution_options(**OPTION)
)
