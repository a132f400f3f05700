import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Engine

from shared.postgres import moves
from tests.fakes.chunks import InMemoryChunks
from tests.integration.app import App, Json, near, where


@pytest.fixture
def app(in_memory: Callable[[InMemoryChunks], App]) -> App:
    return in_memory(InMemoryChunks())


def path_of(dataset: str, name: str | None = None) -> str:
    path = f"/v1/datasets/{dataset}/metadata-fields"
    return path if name is None else f"{path}/{quote(name, safe='')}"


def put(app: App, dataset: str, name: str, metadata: Json | None) -> Json:
    return app.put(dataset, name, near("alpha", 0.5), metadata=metadata)


def list_fields(app: App, dataset: str) -> dict[str, Json]:
    answer = app.client.get(path_of(dataset))
    assert answer.status_code == 200, answer.text
    return {field["name"]: field for field in answer.json()["fields"]}


def declare(app: App, dataset: str, name: str, kind: str) -> Json:
    answer = app.client.post(path_of(dataset), json={"name": name, "type": kind})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def find(app: App, dataset: str, *condition: Any) -> list[str]:
    filtering = where(condition)
    return sorted(app.titles(dataset, "alpha", metadata_filtering=filtering, top_k=20))


def test_fields_are_inferred_and_reported(app: App) -> None:
    dataset = app.dataset()
    for number, pages in enumerate([5, "5", 5.0, "N/A", 12, None]):
        put(app, dataset, f"m{number}", {"pages": pages})
    put(app, dataset, "m", {"lang": "en", "when": "2025-04-09", "tags": ["a"], "ok": True})
    fields = list_fields(app, dataset)
    assert fields["pages"] == {
        "name": "pages",
        "type": "number",
        "declared": False,
        "values": 6,
        "misfits": 1,
        "summary": "inferred: number, 1 of 6 values do not fit",
    }
    types = {name: field["type"] for name, field in fields.items()}
    assert types == {
        "pages": "number", "lang": "string", "when": "time", "tags": "list", "ok": "boolean",
    }  # fmt: skip
    assert fields["lang"]["summary"] == "inferred: string"


def test_built_in_fields_are_listed_with_their_types(app: App) -> None:
    answer = app.client.get(path_of(app.dataset())).json()
    assert answer["fields"] == answer["moving"] == []
    assert {each["name"]: each["type"] for each in answer["built_in"]} == {
        "document_name": "string",
        "uploader": "string",
        "upload_date": "time",
        "last_update_date": "time",
        "source": "string",
    }


def test_fields_come_in_pages(app: App) -> None:
    dataset = app.dataset()
    put(app, dataset, "m", {f"f{n}": n for n in range(5)})
    seen: list[str] = []
    after: str | None = None
    while True:
        parameters: dict[str, Any] = {"limit": 2} | ({"after": after} if after else {})
        answer = app.client.get(path_of(dataset), params=parameters).json()
        seen += [field["name"] for field in answer["fields"]]
        after = answer["next_after"]
        if after is None:
            break
    assert seen == [f"f{n}" for n in range(5)]


def test_an_inferred_type_refuses_nothing(app: App) -> None:
    dataset = app.dataset()
    put(app, dataset, "a", {"n": 1})
    put(app, dataset, "b", {"n": "one"})
    assert find(app, dataset, "n", "is", "one") == ["b"]


def test_a_declared_type_refuses_what_does_not_fit_everywhere(app: App) -> None:
    dataset = app.dataset()
    declared = declare(app, dataset, "n", "number")
    assert declared["summary"] == "declared: number"
    made = put(app, dataset, "a", {"n": "5", "free": {}})
    put(app, dataset, "null", {"n": None})
    wrong = {"n": "five", "free": 1}

    refused = app.send(dataset, name="b", chunks=[near("alpha", 0.5)], metadata=wrong)
    assert refused.status_code == 400
    assert [error["pointer"] for error in refused.json()["errors"]] == ["/metadata/n"]
    assert "number" in refused.json()["errors"][0]["detail"]

    changed = app.client.patch(f"/v1/documents/{made['id']}", json={"metadata": wrong})
    assert changed.status_code == 400
    assert [error["pointer"] for error in changed.json()["errors"]] == ["/metadata/n"]
    assert app.client.get(f"/v1/documents/{made['id']}").json()["metadata"] == made["metadata"]

    one = {"name": "c", "chunks": [near("alpha", 0.5)]}
    body = {"documents": [one | {"metadata": {"n": 1}}, one | {"metadata": wrong}]}
    batch = app.client.post(f"/v1/datasets/{dataset}/documents/batch", json=body)
    good, bad = batch.json()["documents"]
    assert (good["status"], bad["status"]) == (202, 400)
    assert bad["errors"][0]["pointer"] == "/documents/1/metadata/n"


@pytest.mark.parametrize("value", [1744199565, 1744199565.0, 1744199565000, "1744199565"])
def test_b05_time_takes_every_epoch_and_keeps_it_as_it_was_sent(app: App, value: Any) -> None:
    dataset = app.dataset()
    declare(app, dataset, "when", "time")
    made = put(app, dataset, "m", {"when": value})
    assert made["metadata"] == {"when": value}
    assert type(made["metadata"]["when"]) is type(value)
    assert find(app, dataset, "when", "after", 1744199564) == ["m"]


def test_a17_values_of_declared_types_come_back_identical(app: App) -> None:
    dataset = app.dataset()
    types = {"i": "number", "f": "number", "b": "boolean", "s": "string", "n": "time", "l": "list"}
    for name, kind in types.items():
        declare(app, dataset, name, kind)
    sent = {"i": 1, "f": 1.5, "b": True, "s": "x", "n": None, "l": ["a"]}
    made = put(app, dataset, "m", sent)
    assert made["metadata"] == sent
    assert {k: type(v) for k, v in made["metadata"].items()} == {
        k: type(v) for k, v in sent.items()
    }
    assert find(app, dataset, "b", "is", True) == find(app, dataset, "b", "is", "true") == ["m"]
    assert find(app, dataset, "b", "is", False) == []


def test_a17_true_in_place_of_one_is_a_change(app: App) -> None:
    dataset = app.dataset()
    for value in (1, True, 1):
        made = app.put(dataset, "a", near("x", 0.5), external_id="e", metadata={"ok": value})
        assert made["metadata"]["ok"] is value


def test_declaring_tells_how_many_values_do_not_fit_and_leaves_them(app: App) -> None:
    dataset = app.dataset()
    made = put(app, dataset, "a", {"n": "one"})
    put(app, dataset, "b", {"n": "2"})
    declared = declare(app, dataset, "n", "number")
    assert declared["summary"] == "declared: number, 1 of 2 values do not fit"
    assert find(app, dataset, "n", "is", "one") == ["a"]
    app.change(made["id"], name="c")  # says nothing of its metadata
    app.change(made["id"], metadata={"n": 1})
    assert list_fields(app, dataset)["n"]["misfits"] == 0


def test_a_declared_field_stays_without_documents(app: App) -> None:
    dataset = app.dataset()
    declare(app, dataset, "n", "number")
    made = put(app, dataset, "a", {"n": 1})
    app.delete(made["id"])
    assert list_fields(app, dataset)["n"]["values"] == 0


def test_a_rename_holds_for_the_next_query_and_writes_no_index(app: App) -> None:
    dataset = app.dataset()
    made = put(app, dataset, "a", {"old": 1, "x": 2})
    put(app, dataset, "b", {"old": None})
    put(app, dataset, "c", {"x": 3})
    declare(app, dataset, "old", "number")
    version = app.scalar("SELECT max(index_version) FROM documents")
    answer = app.client.patch(path_of(dataset, "old"), json={"name": "new"})
    assert answer.status_code == 200
    assert answer.json()["documents_left"] == 0
    assert (answer.json()["name"], answer.json()["declared"]) == ("new", True)
    assert find(app, dataset, "new", "is", 1) == ["a"]
    assert find(app, dataset, "old", "not empty") == []
    assert find(app, dataset, "new", "empty") == ["b", "c"]
    assert app.client.get(f"/v1/documents/{made['id']}").json()["metadata"] == {"new": 1, "x": 2}
    assert app.scalar("SELECT max(index_version) FROM documents") == version
    assert sorted(list_fields(app, dataset)) == ["new", "x"]
    refused = app.send(
        dataset, name="d", chunks=[near("alpha", 0.5)], metadata={"new": "text", "old": "free"}
    )
    assert [error["pointer"] for error in refused.json()["errors"]] == ["/metadata/new"]


def test_a_deleted_field_is_gone_from_documents_and_filters(app: App) -> None:
    dataset = app.dataset()
    made = put(app, dataset, "a", {"old": 1, "x": 2})
    answer = app.client.delete(path_of(dataset, "old"))
    assert (answer.status_code, answer.json()) == (200, {"name": "old", "documents_left": 0})
    assert find(app, dataset, "old", "not empty") == []
    assert app.client.get(f"/v1/documents/{made['id']}").json()["metadata"] == {"x": 2}
    assert list(list_fields(app, dataset)) == ["x"]
    assert app.client.delete(path_of(dataset, "old")).status_code == 404


def test_type_and_name_change_together(app: App) -> None:
    dataset = app.dataset()
    put(app, dataset, "a", {"n": "five"})
    answer = app.client.patch(path_of(dataset, "n"), json={"type": "number", "name": "m"}).json()
    assert answer["summary"] == "declared: number, 1 of 1 values do not fit"
    assert app.client.patch(path_of(dataset, "m"), json={"type": "string"}).json()["misfits"] == 0
    same = app.client.patch(path_of(dataset, "m"), json={"name": "m"})
    assert (same.status_code, same.json()["name"]) == (200, "m")


@pytest.mark.parametrize("name", ["a/b", "/a", "it's", "a.b", "100%", "->>'x'", "é😀", "e\u0301"])
def test_odd_names_are_names_in_paths(app: App, name: str) -> None:
    dataset = app.dataset()
    put(app, dataset, "a", {name: 1})
    answer = app.client.patch(path_of(dataset, name), json={"name": f"{name}2"})
    assert answer.status_code == 200, answer.text
    assert find(app, dataset, f"{name}2", "is", 1) == ["a"]
    assert app.client.delete(path_of(dataset, f"{name}2")).status_code == 200
    assert list_fields(app, dataset) == {}


def test_a_rename_that_takes_too_long_is_202_and_goes_on_when_asked_again(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = app.dataset()
    for number in range(3):
        put(app, dataset, f"m{number}", {"old": number})
    monkeypatch.setattr(moves, "BATCH", 2)
    with monkeypatch.context() as patched:
        patched.setattr("functions.manage.fields.move_field", out_of_time)
        answer = app.client.patch(path_of(dataset, "old"), json={"name": "new"})
    assert (answer.status_code, answer.json()["documents_left"]) == (202, 1)
    listed = app.client.get(path_of(dataset)).json()
    assert listed["moving"] == [{"name": "old", "to": "new"}]
    assert [field["name"] for field in listed["fields"]] == ["new"]
    other = app.client.patch(path_of(dataset, "old"), json={"name": "other"})
    assert other.status_code == 409
    again = app.client.patch(path_of(dataset, "old"), json={"name": "new"})
    assert (again.status_code, again.json()["values"]) == (200, 3)
    assert app.client.patch(path_of(dataset, "old"), json={"name": "new"}).status_code == 404


def out_of_time(engine: Engine, dataset: str, name: str, target: str, _seconds: float) -> int:
    return moves.move_field(engine, dataset, name, target, -1)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": "n"}, "/type"),
        ({"name": "n", "type": "text"}, "/type"),
        ({"name": "", "type": "string"}, "/name"),
        ({"name": "x" * 256, "type": "string"}, "/name"),
        ({"name": 5, "type": "string"}, "/name"),
        ({"name": "uploader", "type": "string"}, "/name"),
        ({"name": "n", "type": "string", "declared": True}, "/declared"),
    ],
)
def test_a_wrong_declaration_is_refused(app: App, body: Json, pointer: str) -> None:
    answer = app.client.post(path_of(app.dataset()), json=body)
    assert answer.status_code == 400
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 400, ""),
        ({"name": None}, 400, "/name"),
        ({"type": None}, 400, "/type"),
        ({"name": ""}, 400, "/name"),
        ({"name": "source"}, 400, "/name"),
        ({"type": "text"}, 400, "/type"),
        ({"name": "taken"}, 409, None),
    ],
)
def test_a_wrong_change_is_refused(app: App, body: Json, status: int, pointer: str | None) -> None:
    dataset = app.dataset()
    put(app, dataset, "a", {"n": 1, "taken": None})
    answer = app.client.patch(path_of(dataset, "n"), json=body)
    assert answer.status_code == status
    assert [e["pointer"] for e in answer.json().get("errors", [])] == (
        [] if pointer is None else [pointer]
    )
    assert sorted(list_fields(app, dataset)) == ["n", "taken"]


def test_what_is_unknown_is_404_and_what_is_declared_409(app: App) -> None:
    dataset = app.dataset()
    for body in ({"name": "x"}, {"type": "number"}):
        assert app.client.patch(path_of(dataset, "none"), json=body).status_code == 404
    assert app.client.delete(path_of(dataset, "none")).status_code == 404
    assert app.client.delete(path_of(dataset, "uploader")).status_code == 404
    declare(app, dataset, "n", "number")
    again = app.client.post(path_of(dataset), json={"name": "n", "type": "number"})
    assert again.status_code == 409
    for nowhere in (str(uuid.uuid4()), "no id"):
        declared = app.client.post(path_of(nowhere), json={"name": "n", "type": "number"})
        statuses = {
            declared.status_code,
            app.client.get(path_of(nowhere)).status_code,
            app.client.delete(path_of(nowhere, "n")).status_code,
            app.client.patch(path_of(nowhere, "n"), json={"name": "m"}).status_code,
        }
        assert statuses == {404}
