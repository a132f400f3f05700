from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from functions.migrate.run import downgrade, upgrade
from shared.metadata.fields import FieldType
from shared.postgres.engine import connect, read, transaction
from shared.postgres.fields import list_fields
from shared.postgres.tables import metadata
from shared.settings import DEFAULT_TENANT


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, timeout=10)
    yield engine
    downgrade(engine, "base")
    engine.dispose()


def list_what_is_there(engine: Engine) -> set[str]:
    found = inspect(engine)
    return {*found.get_table_names(), *found.get_sequence_names()}


def test_up_down_to_nothing_and_up_again(engine: Engine) -> None:
    revision = upgrade(engine)
    there = list_what_is_there(engine)
    assert {"tenants", "documents", "chunks", "outbox", "index_versions"} <= there
    downgrade(engine, "base")
    assert list_what_is_there(engine) == {"alembic_version"}
    assert upgrade(engine) == revision
    assert list_what_is_there(engine) == there
    assert upgrade(engine) == revision  # again is fine


def test_the_migrations_make_exactly_the_tables_of_the_code(engine: Engine) -> None:
    upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


def list_details(engine: Engine) -> dict[str, list[str]]:
    """What `compare_metadata` does not look at: checks, keys, the conditions of indices."""
    statements = {
        "indices": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "constraints": "SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) "
        "FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
        "sequences": "SELECT sequencename || ' ' || data_type FROM pg_sequences",
    }
    with read(engine) as connection:
        return {
            name: sorted(
                each
                for each in connection.scalars(text(statement))
                if "alembic_version" not in each
            )
            for name, statement in statements.items()
        }


def test_indices_keys_and_sequences_are_those_of_the_code(engine: Engine) -> None:
    upgrade(engine)
    migrated = list_details(engine)
    downgrade(engine, "base")
    with transaction(engine) as connection:
        metadata.create_all(connection)
    assert list_details(engine) == migrated
    with transaction(engine) as connection:
        metadata.drop_all(connection)
    upgrade(engine)  # for the fixture, which takes it down


def test_two_upgrades_at_once_both_end_well(engine: Engine) -> None:
    with ThreadPoolExecutor(2) as pool:
        revisions = set(pool.map(lambda _: upgrade(engine), range(2)))
    assert len(revisions) == 1
    with read(engine) as connection:
        assert connection.scalars(text("SELECT id::text FROM tenants")).all() == [DEFAULT_TENANT]


def test_fields_of_documents_that_are_there_are_counted(engine: Engine) -> None:
    upgrade(engine, "0001")
    with transaction(engine) as connection:
        dataset, document = (
            str(uuid4()),
            text(
                "INSERT INTO documents (id, tenant_id, dataset_id, name, uploader, version,"
                " indexing_status, filter_values, updated_at, doc_metadata, deleted_at)"
                " VALUES (gen_random_uuid(), :tenant, :dataset, 'n', 'u', 1, 'completed', '{}',"
                " now(), CAST(:metadata AS JSONB), :deleted)"
            ),
        )
        connection.execute(
            text(
                "INSERT INTO datasets (id, tenant_id, name, indexing_technique, embedding_provider,"
                " embedding_model, embedding_dimension)"
                " VALUES (:id, :tenant, 'd', 'economy', 'none', 'none', 0)"
            ),
            {"id": dataset, "tenant": DEFAULT_TENANT},
        )
        for metadata_, deleted in [
            ('{"n": 1}', None), ('{"n": "x", "o": {}}', None), ("null", None), (None, None),
            ('{"n": 1, "gone": 1}', "2026-01-01T00:00:00Z"),
        ]:  # fmt: skip
            values = {"tenant": DEFAULT_TENANT, "dataset": dataset, "metadata": metadata_}
            connection.execute(document, values | {"deleted": deleted})
    upgrade(engine)
    with read(engine) as connection:
        found = {field.name: field for field in list_fields(connection, [dataset])}
    assert found.keys() == {"n", "o"}
    assert (found["n"].values, found["n"].declared) == (2, False)
    assert found["n"].misfits == 1 or found["n"].type is FieldType.STRING
    downgrade(engine, "0001")
    with transaction(engine) as connection:
        assert connection.scalars(text("SELECT name FROM metadata_fields")).all() == ["n"]
