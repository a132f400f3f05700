import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from shared.errors import DatabaseUnavailable, DocumentRefused, IndexUnavailable, Unavailable
from shared.http.bodies import MOST_ANSWER_BYTES
from shared.model import Document
from tests.fakes.chunks import InMemoryChunks
from tests.integration.app import App, Json, near


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    return app.dataset()


def documents_of(dataset: str, *, wait: bool = True) -> str:
    return f"/v1/datasets/{dataset}/documents" + ("?wait=true" if wait else "")


def test_a_document_is_sent_shown_and_found(app: App, dataset: str) -> None:
    sent: Json = {"name": "a", "source": "s", "metadata": {"x": 1}, "external_id": "shown"}
    made = app.put(dataset, **sent, chunks=[near("alpha", 0.5, page=3)])
    assert made["indexing_status"] == "completed"
    assert (made["version"], made["live_version"]) == (1, 1)
    assert {key: made[key] for key in sent} == sent
    assert made["uploader"] == "bootstrap"
    shown = app.client.get(f"/v1/documents/{made['id']}").json()
    assert shown == made
    [chunk] = app.client.get(f"/v1/documents/{made['id']}/chunks").json()["chunks"]
    assert (chunk["content"], chunk["position"], chunk["page"]) == ("alpha", 1, 3)
    [record] = app.retrieve(dataset, "alpha", top_k=1)["records"]
    assert (record["chunk_id"], record["page"]) == (chunk["id"], 3)


def test_without_waiting_the_answer_is_202(app: App, dataset: str) -> None:
    answer = app.client.post(
        documents_of(dataset, wait=False), json={"name": "a", "chunks": [near("alpha", 0.5)]}
    )
    assert answer.status_code == 202
    assert answer.json()["indexing_status"] == "waiting"
    assert answer.json()["version"] == 1
    again = app.client.delete(f"/v1/documents/{answer.json()['id']}")
    assert again.status_code == 202


def test_waiting_ends_at_its_deadline_with_202(
    in_memory: Callable[[InMemoryChunks], App], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.manage.wait._PAUSE_SECONDS", 60.0)

    class Silent(InMemoryChunks):
        def upsert(self, *_: Any) -> None:
            raise IndexUnavailable

    app = in_memory(Silent())
    answer = app.send(app.dataset(), chunks=[near("alpha", 0.5)])
    assert answer.status_code == 202
    assert answer.json()["live_version"] is None


def test_the_time_of_the_writes_is_part_of_the_wait(
    in_memory: Callable[[InMemoryChunks], App], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = in_memory(InMemoryChunks())
    written: list[float] = []
    ends: list[float] = []

    def put(*_: Any) -> None:
        written.append(time.monotonic())

    def wait_for(_engine: Any, document: Document, end: float) -> Document:
        ends.append(end)
        return document

    monkeypatch.setattr(app.content, "put", put)
    monkeypatch.setattr("functions.manage.answers.wait_for", wait_for)
    app.send(app.dataset(), chunks=[near("alpha", 0.5)])
    assert ends[0] < written[0] + 5  # the seconds that a request may last here


@pytest.mark.parametrize("failure", [DatabaseUnavailable, ZeroDivisionError])
def test_what_a_batch_took_before_it_failed_is_announced(
    in_memory: Callable[[InMemoryChunks], App],
    monkeypatch: pytest.MonkeyPatch,
    failure: type[Exception],
) -> None:
    app = in_memory(InMemoryChunks())
    made, put = app.dataset(), app.content.put
    stored = 0

    def fail_third(*args: Any) -> None:
        nonlocal stored
        stored += 1
        if stored == 3:
            raise failure
        put(*args)

    monkeypatch.setattr(app.content, "put", fail_third)
    sent = [{"name": f"{n}", "chunks": [near("alpha", 0.5)]} for n in range(4)]
    path = f"{documents_of(made, wait=False)}/batch"
    answer = app.client.post(path, json={"documents": sent})
    assert answer.status_code == (503 if failure is DatabaseUnavailable else 500)
    listed = app.client.get(f"/v1/datasets/{made}/documents").json()["documents"]
    assert {each["name"] for each in listed if each["indexing_status"] == "completed"} == {"0", "1"}


def test_a_queue_that_takes_nothing_fails_no_write(
    in_memory: Callable[[InMemoryChunks], App],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = in_memory(InMemoryChunks())
    made = app.dataset()
    old = app.put(made, "old", near("alpha", 0.5))

    def refuse(*_: Any) -> None:
        raise Unavailable("the queue can't be reached")

    monkeypatch.setattr("tests.integration.app.InProcessQueue.send", refuse)
    body = {"name": "a", "chunks": [near("alpha", 0.5)]}
    path = documents_of(made, wait=False)
    answers = [
        app.client.post(path, json=body),
        app.client.post(f"{path}/batch", json={"documents": [body]}),
        app.client.delete(f"/v1/documents/{old['id']}"),
    ]
    assert [answer.status_code for answer in answers] == [202] * 3
    waiting = "SELECT count(*) FROM outbox WHERE dataset_id = :id"
    assert app.scalar(waiting, id=made) == 3
    assert sum("could not be announced" in record.message for record in caplog.records) == 3


class Refusing(InMemoryChunks):
    """An index that will never take a chunk."""

    def upsert(self, *_: Any) -> None:
        raise DocumentRefused("internal", "this chunk is too odd")


def test_waiting_for_a_refused_document_ends_at_once_with_its_reason(
    in_memory: Callable[[InMemoryChunks], App],
) -> None:
    app = in_memory(Refusing())
    answer = app.send(app.dataset(), chunks=[near("alpha", 0.5)])
    assert answer.status_code == 202
    assert answer.json()["indexing_status"] == "error"
    assert answer.json()["error_code"] == "internal"
    assert answer.json()["error"] == "this chunk is too odd"


def test_the_same_external_id_is_an_update(app: App, dataset: str) -> None:
    first = app.put(dataset, "a", near("one", 0.5), external_id="e")
    second = app.put(dataset, "b", near("two", 0.5), external_id="e")
    assert second["id"] == first["id"]
    assert (first["version"], second["version"]) == (1, 2)
    assert second["name"] == "b"
    third = app.put(dataset, "b", near("two", 0.5), external_id="e")
    assert third["version"] == 2
    fourth = app.put(dataset, "b", near("three", 0.5), external_id="e", version=10)
    assert fourth["version"] == fourth["live_version"] == 10
    other = app.put(app.dataset(), "a", near("one", 0.5), external_id="e")
    assert other["id"] != first["id"]


def test_o04_a_stale_version_is_409_naming_both(app: App, dataset: str) -> None:
    chunk = near("one", 0.5)
    app.put(dataset, "a", chunk, external_id="stale", version=7)
    for version, content in ((6, chunk), (7, near("two", 0.5))):
        answer = app.send(dataset, name="a", chunks=[content], external_id="stale", version=version)
        assert answer.status_code == 409
        assert f"version {version} " in answer.json()["detail"]
        assert "version 7" in answer.json()["detail"]
    same = app.send(dataset, name="a", chunks=[chunk], external_id="stale", version=7)
    assert same.status_code == 201
    # What a sender does whose numbers begin anew.
    unnumbered = app.put(dataset, "a", near("two", 0.5), external_id="stale")
    assert unnumbered["version"] == 8


def test_a_batch_answers_for_each_document(app: App, dataset: str) -> None:
    app.put(dataset, "old", near("one", 0.5), external_id="batch", version=5)
    sent: list[Any] = [
        {"name": "good", "chunks": [near("alpha", 0.5)]},
        {"name": "bad", "chunks": [{"text": "no vector"}]},
        {"name": "odd", "colour": 1, "chunks": [near("alpha", 0.5)]},
        {"name": "stale", "external_id": "batch", "version": 4, "chunks": [near("a", 0.5)]},
    ]
    path = f"/v1/datasets/{dataset}/documents/batch?wait=true"
    answer = app.client.post(path, json={"documents": sent})
    assert answer.status_code == 201
    good, bad, odd, stale = answer.json()["documents"]
    assert [each["status"] for each in (good, bad, odd, stale)] == [201, 400, 400, 409]
    assert good["indexing_status"] == "completed"
    assert bad["errors"][0]["pointer"] == "/documents/1/chunks/0/vector"
    assert odd["errors"][0]["pointer"] == "/documents/2/colour"


def test_blank_chunks_are_left_out_and_reported(app: App, dataset: str) -> None:
    chunks = [near("alpha", 0.5), near(" \u3000", 0.5), near("\n", 0.5)]
    body: Json = {"name": "gaps", "chunks": chunks}
    answer = app.client.post(f"/v1/datasets/{dataset}/documents?wait=true", json=body)
    assert answer.json()["blank_chunks"] == 2
    shown = app.client.get(f"/v1/documents/{answer.json()['id']}/chunks").json()
    assert [chunk["content"] for chunk in shown["chunks"]] == ["alpha"]
    path = f"/v1/datasets/{dataset}/documents/batch"
    other: Json = {"name": "full", "chunks": chunks[:1]}
    one, two = app.client.post(path, json={"documents": [body, other]}).json()["documents"]
    assert one["blank_chunks"] == 2
    assert "blank_chunks" not in two


def test_a_batch_of_one_answers_as_one_of_many(app: App, dataset: str) -> None:
    path = f"/v1/datasets/{dataset}/documents/batch"
    body: Json = {"documents": [{"name": "good", "chunks": [near("alpha", 0.5)]}]}
    answer = app.client.post(path, json=body)
    assert answer.status_code == 202
    assert answer.json()["documents"][0]["status"] == 202


@pytest.mark.parametrize("documents", [[], None, {}, [5], [{"name": "a"}] * 501])
def test_a_wrong_batch_is_refused(app: App, dataset: str, documents: Any) -> None:
    answer = app.client.post(
        f"/v1/datasets/{dataset}/documents/batch", json={"documents": documents}
    )
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"].startswith("/documents")


@pytest.mark.parametrize("most", [MOST_ANSWER_BYTES, 2_000])
def test_pages_of_a_listing_show_each_document_once(
    app: App, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("functions.manage.pages.MOST_ANSWER_BYTES", most)
    dataset = app.dataset()
    names = [f"{n:02}" for n in range(7)]
    app.put_all(dataset, [{"name": name, "chunks": [near("alpha", 0.5)]} for name in names])
    gone = app.put(dataset, "gone", near("alpha", 0.5))
    app.delete(gone["id"])
    found: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": "3"} | ({"cursor": cursor} if cursor else {})
        answer = app.client.get(f"/v1/datasets/{dataset}/documents", params=query)
        assert len(answer.content) <= most
        page = answer.json()
        found += [each["name"] for each in page["documents"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == names


def test_a_listing_by_status(app: App, in_memory: Callable[[InMemoryChunks], App]) -> None:
    dataset = app.dataset()
    app.put(dataset, "good.txt", near("alpha", 0.5))
    in_memory(Refusing()).send(dataset, name="bad.md", chunks=[near("alpha", 0.5)])
    path = f"/v1/datasets/{dataset}/documents"

    def names(status: str) -> list[str]:
        listed = app.client.get(path, params={"status": status}).json()["documents"]
        return [each["name"] for each in listed]

    assert names("completed") == ["good.txt"]
    assert names("error") == ["bad.md"]
    assert names("waiting") == []
    assert app.client.get(path, params={"status": "lost"}).status_code == 400


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "cursor=x", "cursor=%E9%80%80", "cursor=W10=",
     "cursor=WyJ4IiwgInkiXQ==", "cursor=NQ==", "cursor=" + "W1tb" * 9_000],
)  # fmt: skip
def test_a_wrong_page_is_refused(app: App, dataset: str, query: str) -> None:
    answer = app.client.get(f"/v1/datasets/{dataset}/documents?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.json()["errors"][0]["pointer"]


def test_chunks_come_in_pages(app: App, dataset: str) -> None:
    document = app.put(dataset, "paged", *(near(f"chunk {n}", 0.5) for n in range(5)))
    path = f"/v1/documents/{document['id']}/chunks"
    first = app.client.get(f"{path}?limit=2").json()
    assert [chunk["position"] for chunk in first["chunks"]] == [1, 2]
    rest = app.client.get(f"{path}?after={first['next_after']}").json()
    assert [chunk["position"] for chunk in rest["chunks"]] == [3, 4, 5]
    assert rest["next_after"] is None
    assert app.client.get(f"{path}?after=-1").status_code == 400
    assert app.client.get(f"{path}?after={10**30}").status_code == 400


def test_a_page_has_fewer_than_asked_for_where_more_would_be_no_answer_of_lambda_s(
    app: App,
) -> None:
    dataset = app.dataset()
    large = [str(n) + "x" * 1_800_000 for n in range(4)]
    document = app.put(dataset, "large", *(near(text, 0.5) for text in large))
    path, query = f"/v1/documents/{document['id']}/chunks", {"limit": "500"}
    first = app.client.get(path, params=query)
    assert len(first.content) < 6_000_000
    assert [chunk["position"] for chunk in first.json()["chunks"]] == [1, 2]
    after = {"after": str(first.json()["next_after"])}
    rest = app.client.get(path, params=query | after).json()
    assert [chunk["position"] for chunk in rest["chunks"]] == [3, 4]
    assert rest["next_after"] is None


def test_a_change_is_seen_at_once_and_what_is_left_out_stays(app: App, dataset: str) -> None:
    document = app.put(dataset, "a", near("alpha", 0.5), metadata={"x": 1})
    changed = app.change(document["id"], name="b")
    assert (changed["name"], changed["metadata"]) == ("b", {"x": 1})
    changed = app.change(document["id"], metadata={"y": 2})
    assert (changed["name"], changed["metadata"]) == ("b", {"y": 2})
    assert app.change(document["id"], metadata=None)["metadata"] == {}
    assert changed["version"] == document["version"]
    assert changed["updated_at"] > document["updated_at"]
    path = f"/v1/documents/{document['id']}?wait=true"
    assert app.client.patch(path, json={"name": "c"}).status_code == 201


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"name": None}, "/name"),
        ({"enabled": "yes"}, "/enabled"),
        ({"enabled": None}, "/enabled"),
        ({"text": "x"}, "/text"),
        ({"metadata": []}, "/metadata"),
        ({"metadata": {"": 1}}, "/metadata/"),
        ({"metadata": {"document_name": "x"}}, "/metadata/document_name"),
        ({"metadata": {"x": "y" * 70_000}}, "/metadata"),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(
    app: App, dataset: str, body: Json, pointer: str
) -> None:
    document = app.put(dataset, "a", near("alpha", 0.5), external_id="unchanged")
    answer = app.client.patch(f"/v1/documents/{document['id']}", json=body)
    assert answer.status_code == 400
    assert [problem["pointer"] for problem in answer.json()["errors"]] == [pointer]
    assert app.client.get(f"/v1/documents/{document['id']}").json() == document


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": "a"}, "/text"),
        ({"name": "a", "text": "x", "chunks": [near("x", 0.5)]}, "/text"),
        ({"name": "a", "text": "x"}, "/text"),  # this dataset embeds nothing itself
        ({"name": "a", "chunks": []}, "/chunks"),
        ({"name": "a", "chunks": [{"vector": [1, 0]}]}, "/chunks/0/text"),
        ({"name": "a", "chunks": [{"text": "x"}]}, "/chunks/0/vector"),
        ({"name": "a", "chunks": [near(" \n", 0.5)]}, "/chunks"),
        ({"name": "a", "chunks": [near("x", 0.5, page=0)]}, "/chunks/0/page"),
        ({"name": "a", "chunks": [near("x", 0.5, colour=0)]}, "/chunks/0/colour"),
        ({"name": "a", "chunks": [near("x", 0.5)], "version": 0}, "/version"),
        ({"name": "a", "chunks": [near("x", 0.5)], "version": 1.5}, "/version"),
        ({"name": "a", "chunks": [near("x", 0.5)], "version": 2**63}, "/version"),
        ({"name": "a", "chunks": [near("x", 0.5)], "external_id": ""}, "/external_id"),
        ({"name": "x" * 256, "chunks": [near("x", 0.5)]}, "/name"),
        ({"name": "a", "chunks": [near("x", 0.5)], "metadata": {"source": 1}}, "/metadata/source"),
        (
            {"name": "a", "chunks": [near("x", 0.5)], "metadata": {str(n): n for n in range(257)}},
            "/metadata",
        ),
    ],
)
def test_a_wrong_document_is_refused_at_the_field_before_anything_is_written(
    app: App, dataset: str, body: Json, pointer: str
) -> None:
    before = app.scalar("SELECT count(*) FROM documents")
    answer = app.client.post(documents_of(dataset), json=body)
    assert answer.status_code == 400
    assert pointer in [problem["pointer"] for problem in answer.json()["errors"]]
    assert app.scalar("SELECT count(*) FROM documents") == before


def test_a_text_over_the_limit_is_413(app: App) -> None:
    answer = app.send(app.economy(), text="x" * 1_000_001)
    assert answer.status_code == 413


def test_the_largest_version_still_has_one_after_it(app: App, dataset: str) -> None:
    answer = app.send(dataset, chunks=[near("x", 0.5)], external_id="max", version=2**62 + 1)
    assert answer.json()["errors"][0]["pointer"] == "/version"
    largest = app.send(dataset, chunks=[near("x", 0.5)], external_id="max", version=2**62)
    assert largest.status_code == 201
    assert app.delete(largest.json()["id"]).status_code == 201


def test_an_unknown_document_is_404_everywhere(app: App) -> None:
    for id_ in ("x", str(uuid.uuid4())):
        path = f"/v1/documents/{id_}"
        answers = [
            app.client.get(path),
            app.client.patch(path, json={"name": "x"}),
            app.client.delete(path),
            app.client.post(f"{path}/retry"),
            app.client.get(f"{path}/chunks"),
        ]
        assert [answer.status_code for answer in answers] == [404] * 5


def test_a_deleted_document_takes_no_changes(app: App, dataset: str) -> None:
    document = app.put(dataset, "a", near("alpha", 0.5))
    app.delete(document["id"])
    path = f"/v1/documents/{document['id']}"
    assert app.client.patch(path, json={"name": "b"}).status_code == 404
    assert app.client.post(f"{path}/retry").status_code == 404
    assert app.client.get(f"{path}/chunks").status_code == 404


def test_retry_processes_the_newest_version_once_more(app: App) -> None:
    dataset = app.embedded()
    app.put_text(dataset, "warm up", "so that the embedder is there")
    space = next(space for space in app.embedders.made if space.model == "fake")
    app.embedders.made[space].broken = "asleep"
    body: Json = {"name": "a", "text": "alpha"}
    waiting = app.client.post(documents_of(dataset, wait=False), json=body).json()
    app.embedders.made[space].broken = None
    answer = app.client.post(f"/v1/documents/{waiting['id']}/retry?wait=true")
    assert answer.status_code == 201
    assert answer.json()["indexing_status"] == "completed"
