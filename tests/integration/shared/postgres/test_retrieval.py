import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from pyroaring import BitMap
from sqlalchemy import bindparam, event, text
from sqlalchemy.dialects.postgresql import JSONB

from shared.metadata.filter_values import read_fields
from shared.metadata.parse import parse_filter
from shared.model import NoDocuments, TheseDocuments
from shared.postgres.engine import read
from shared.postgres.retrieval import find_allowlists, find_hidden, hydrate
from tests.integration.app import App, near


def test_another_tenants_documents_are_in_no_list(app: App) -> None:
    dataset = app.dataset()
    shown = app.put(dataset, "shown", near("alpha", 0.5), metadata={"lang": "en"})
    hidden = app.put(dataset, "hidden", near("beta", 0.5), metadata={"lang": "en"})
    app.put(dataset, "other", near("gamma", 0.5), metadata={"lang": "zh"})
    app.change(hidden["id"], enabled=False)
    chunks = app.client.get(f"/v1/documents/{shown['id']}/chunks").json()["chunks"]
    ids = [chunk["id"] for chunk in chunks]
    tenant = str(app.scalar("SELECT tenant_id FROM datasets WHERE id = :id", id=dataset))
    condition = {"name": "lang", "comparison_operator": "is", "value": "en"}
    tree = parse_filter("and", [condition], pointer="")
    assert tree is not None
    with read(app.engine) as connection:
        allowlist, matched = find_allowlists(connection, tenant, {dataset: 2}, tree)[dataset]
        assert isinstance(allowlist, TheseDocuments)
        assert matched == 1
        assert len(find_hidden(connection, tenant, [dataset])) == 1
        assert len(hydrate(connection, tenant, ids, age=0)) == 1
        stranger = str(uuid.uuid4())
        none = {dataset: (NoDocuments(), 0)}
        assert find_allowlists(connection, stranger, {dataset: 2}, tree) == none
        assert not find_hidden(connection, stranger, [dataset])
        assert hydrate(connection, stranger, ids, age=0) == {}


@pytest.fixture
def crowded(app: App) -> Iterator[str]:
    """A dataset of 5,000 documents of which queries know no more than the metadata."""
    dataset = app.dataset()
    values = [read_fields({"reference": f"REF-{number}", "n": number}) for number in range(5_000)]
    insert = text(
        "INSERT INTO documents (id, tenant_id, dataset_id, name, uploader, version, live_version,"
        " indexing_status, filter_values, updated_at)"
        " SELECT gen_random_uuid(), tenant_id, id, 'name', 'tests', 1, 1, 'completed', each, now()"
        " FROM datasets, jsonb_array_elements(:values) AS each WHERE id = :dataset"
    ).bindparams(bindparam("values", type_=JSONB))
    with read(app.engine) as connection:
        connection.execute(insert, {"values": values, "dataset": dataset})
        connection.execute(text("ANALYZE documents"))
    yield dataset
    with read(app.engine) as connection:
        connection.execute(text("DELETE FROM datasets WHERE id = :id"), {"id": dataset})


def test_the_allowlist_of_one_document_is_an_index_look_up(app: App, crowded: str) -> None:
    tenant = str(app.scalar("SELECT tenant_id FROM datasets WHERE id = :id", id=crowded))
    condition = {"name": "reference", "comparison_operator": "is", "value": "REF-77"}
    tree = parse_filter("and", [condition], pointer="")
    assert tree is not None
    sent: list[tuple[str, Any]] = []
    with read(app.engine) as connection:
        event.listen(
            connection, "before_cursor_execute", lambda *each: sent.append((each[2], each[3]))
        )
        allowlist, matched = find_allowlists(connection, tenant, {crowded: 5_000}, tree)[crowded]
        ((statement, parameters),) = sent
        plan = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars()
        assert "Bitmap Index Scan on documents_values" in "\n".join(plan)
        own = text(
            "SELECT seq FROM documents WHERE dataset_id = :id ORDER BY seq OFFSET 77 LIMIT 1"
        )
        assert allowlist == TheseDocuments(BitMap(connection.scalars(own, {"id": crowded})))
    assert matched == 1
