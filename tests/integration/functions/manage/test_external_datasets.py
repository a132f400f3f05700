import uuid
from typing import Any

import pytest

from functions.ingest.events import ObjectChange
from functions.ingest.sources import take_object
from shared.errors import ChangeMalformed
from tests.integration.app import App, Json, near

KEY = "the-key-of-somebody-else"
EXTERNAL = {"endpoint": "https://kb.example/v1", "knowledge_id": "kb-1", "api_key": KEY}


def make(app: App, **body: Any) -> Any:
    sent = {"name": uuid.uuid4().hex, "provider": "external", "external": EXTERNAL} | body
    return app.client.post("/v1/datasets", json=sent)


def made(app: App, **body: Any) -> Json:
    answer = make(app, **body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_an_external_dataset_is_made_shown_and_listed_without_its_key(app: App) -> None:
    shown = made(app, description="theirs", retrieval={"top_k": 7})
    assert shown["provider"] == "external"
    assert shown["external"] == {"endpoint": "https://kb.example/v1", "knowledge_id": "kb-1"}
    assert shown["embedding"] is None
    assert shown["indexing_technique"] is None
    assert shown["retrieval"] == {"top_k": 7}
    assert app.client.get(f"/v1/datasets/{shown['id']}").json() == shown
    listed = app.client.get("/v1/datasets")
    assert shown in listed.json()["datasets"]
    assert KEY not in listed.text
    internal = app.client.get(f"/v1/datasets/{app.dataset()}").json()
    assert "external" not in internal
    assert internal["provider"] == "internal"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"external": None}, "/external"),
        ({"external": {}}, "/external/endpoint"),
        ({"external": EXTERNAL | {"api_key": None}}, "/external/api_key"),
        ({"external": EXTERNAL | {"api_key": ""}}, "/external/api_key"),
        ({"external": EXTERNAL | {"api_key": "a b"}}, "/external/api_key"),
        ({"external": EXTERNAL | {"api_key": "a\r\nX-Other: 1"}}, "/external/api_key"),
        ({"external": EXTERNAL | {"knowledge_id": " "}}, "/external/knowledge_id"),
        ({"external": EXTERNAL | {"colour": "red"}}, "/external/colour"),
        ({"external": EXTERNAL | {"endpoint": "http://kb.example"}}, "/external/endpoint"),
        ({"external": EXTERNAL | {"endpoint": "https://127.0.0.1"}}, "/external/endpoint"),
        ({"external": EXTERNAL | {"endpoint": "https://169.254.169.254"}}, "/external/endpoint"),
        ({"external": EXTERNAL | {"endpoint": "https://u:p@kb.example"}}, "/external/endpoint"),
        ({"external": EXTERNAL | {"endpoint": "https://kb.example?a"}}, "/external/endpoint"),
        ({"embedding": {"provider": "given", "dimension": 2}}, "/embedding"),
        ({"indexing_technique": "economy"}, "/indexing_technique"),
        ({"chunking": {"size": 100}}, "/chunking"),
        ({"provider": "internal"}, "/external"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(app: App, body: Json, pointer: str) -> None:
    refused = make(app, **body)
    assert refused.status_code == 400, refused.text
    assert pointer in [each["pointer"] for each in refused.json()["errors"]]
    assert KEY not in refused.text


def test_a_key_is_replaced_only_together_with_where_it_is_sent(app: App) -> None:
    path = f"/v1/datasets/{made(app)['id']}"
    kept = "SELECT external ->> 'api_key' FROM datasets WHERE id = :id"
    id_ = path.rpartition("/")[2]
    app.client.patch(path, json={"description": "words"})
    assert app.scalar(kept, id=id_) == KEY
    for partial in ({"endpoint": "https://evil.example"}, {"api_key": "new"}):
        assert app.client.patch(path, json={"external": partial}).status_code == 400
    changed = app.client.patch(path, json={"external": EXTERNAL | {"api_key": "new-key"}})
    assert changed.status_code == 200
    assert "new-key" not in changed.text
    assert app.scalar(kept, id=id_) == "new-key"


def test_a_change_keeps_a_dataset_of_its_kind(app: App) -> None:
    internal = app.client.patch(f"/v1/datasets/{app.dataset()}", json={"external": EXTERNAL})
    assert internal.status_code == 400
    path = f"/v1/datasets/{made(app)['id']}"
    assert app.client.patch(path, json={"chunking": {"size": 100}}).status_code == 400
    wrong = app.client.patch(path, json={"external": EXTERNAL | {"endpoint": "https://[::1]"}})
    assert [each["pointer"] for each in wrong.json()["errors"]] == ["/external/endpoint"]
    assert app.client.patch(path, json={"name": uuid.uuid4().hex}).status_code == 200


def test_documents_are_not_written_to_one(app: App) -> None:
    path = f"/v1/datasets/{made(app)['id']}/documents"
    document = {"name": "a", "chunks": [near("text", 0.5)]}
    one = app.client.post(path, json=document)
    batch = app.client.post(f"{path}/batch", json={"documents": [document]})
    assert (one.status_code, batch.status_code) == (400, 400)
    assert "external" in one.json()["detail"]
    listed = app.client.get(path)
    assert listed.status_code == 200
    assert listed.json()["documents"] == []


def test_objects_below_one_are_refused(app: App) -> None:
    dataset = made(app)["id"]
    event = ObjectChange("bucket", f"datasets/{dataset}/a.md", False, "01")
    with pytest.raises(ChangeMalformed, match="not kept here"):
        take_object(event, app.engine, app.objects, app.content, 1_000)
