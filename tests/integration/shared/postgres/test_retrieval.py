import uuid

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
        allowlist, matched = find_allowlists(connection, tenant, [dataset], tree)[dataset]
        assert isinstance(allowlist, TheseDocuments)
        assert matched == 1
        assert len(find_hidden(connection, tenant, [dataset])) == 1
        assert len(hydrate(connection, tenant, ids, age=0)) == 1
        stranger = str(uuid.uuid4())
        none = {dataset: (NoDocuments(), 0)}
        assert find_allowlists(connection, stranger, [dataset], tree) == none
        assert not find_hidden(connection, stranger, [dataset])
        assert hydrate(connection, stranger, ids, age=0) == {}
