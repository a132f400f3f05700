"""Chunks switched off and on: absent in every mode, and back in every mode."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from shared.model import SearchScope
from shared.postgres import live_chunks
from tests.fakes.chunks import InMemoryChunks
from tests.integration.app import App, Json, near, where

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]


def chunks_of(app: App, document: Json) -> list[Json]:
    answer = app.client.get(f"/v1/documents/{document['id']}/chunks?limit=500")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["chunks"])


def switch(app: App, chunk: Json, enabled: bool) -> Json:
    answer = app.client.patch(f"/v1/chunks/{chunk['id']}", json={"enabled": enabled})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def contents(app: App, dataset: str, query: str, **body: Any) -> set[tuple[str, ...]]:
    """What each method finds, with a filter and without."""
    return {
        tuple(sorted(r["content"] for r in app.retrieve(dataset, query, **asked | body)["records"]))
        for method in METHODS
        for filtering in ({}, {"metadata_filtering": where(("document_name", "not empty"))})
        for asked in [{"search_method": method, **filtering}]
    }


def test_i07_a_chunk_that_is_off_is_absent_in_every_mode_and_comes_back(app: App) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund policy", 0.9), near("refund window", 0.5))
    first, second = chunks_of(app, document)
    assert (first["enabled"], first["document_id"]) == (True, document["id"])
    assert contents(app, dataset, "refund") == {("refund policy", "refund window")}
    assert switch(app, first, False) == first | {"enabled": False}
    assert contents(app, dataset, "refund") == {("refund window",)}
    assert chunks_of(app, document) == [first | {"enabled": False}, second]
    switch(app, first, False)
    assert switch(app, first, True) == first
    assert contents(app, dataset, "refund") == {("refund policy", "refund window")}
    waiting = app.client.patch(f"/v1/chunks/{first['id']}?wait=true", json={"enabled": False})
    assert waiting.status_code == 201


def test_many_near_chunks_that_are_off_take_no_place(app: App) -> None:
    dataset = app.dataset(model=uuid.uuid4().hex)
    document = app.put(
        dataset,
        "a",
        *(near(f"refund {n}", 0.99) for n in range(300)),
        *(near(f"refund far {n}", 0.1) for n in range(5)),
    )
    for chunk in chunks_of(app, document)[:300]:
        switch(app, chunk, False)
    shown = app.client.get(f"/v1/documents/{document['id']}").json()
    assert shown["chunk_counts"] == {"total": 305, "indexed": 305, "disabled": 300}
    for method in METHODS:
        found = app.retrieve(dataset, "refund", search_method=method, top_k=5)["records"]
        assert sorted(record["content"] for record in found) == [
            f"refund far {n}" for n in range(5)
        ]


def test_a_chunk_stays_off_as_long_as_its_document_has_its_text(app: App) -> None:
    dataset = app.dataset()
    kept, changed = near("refund policy", 0.9), near("refund window", 0.5)
    document = app.put(dataset, "a", kept, changed, external_id="a")
    for chunk in chunks_of(app, document):
        switch(app, chunk, False)
    app.put(dataset, "a", near("refund terms", 0.4), kept, external_id="a")
    assert [each["enabled"] for each in chunks_of(app, document)] == [True, False]
    assert contents(app, dataset, "refund") == {("refund terms",)}
    app.put(dataset, "a", near("refund terms", 0.4), external_id="a")
    app.delete(document["id"])
    app.put(dataset, "a", kept, changed, external_id="a")
    assert contents(app, dataset, "refund") == {("refund policy", "refund window")}


def test_switching_writes_nothing_but_the_switch(app: App, statements: list[str]) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund policy", 0.9))
    [chunk] = chunks_of(app, document)
    statements.clear()
    switch(app, chunk, False)
    written = [each.split("(")[0].split()[2] for each in statements if each.startswith("INSERT")]
    updated = [each.split()[1] for each in statements if each.startswith("UPDATE")]
    assert (written, updated) == (["disabled_chunks"], ["datasets"])
    statements.clear()
    switch(app, chunk, True)
    app.titles(dataset, "refund")
    assert not any("disabled_chunks.chunk_id \nFROM" in each for each in statements)


def test_what_is_no_live_chunk_of_the_callers_is_not_switched(app: App) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("old words", 0.9), external_id="a")
    [old] = chunks_of(app, document)
    app.put(dataset, "a", near("new words", 0.9), external_id="a")
    [new] = chunks_of(app, document)
    app.delete(document["id"])
    for id_ in ("x", str(uuid.uuid4()), old["id"], new["id"]):
        answer = app.client.patch(f"/v1/chunks/{id_}", json={"enabled": False})
        assert answer.status_code == 404, id_


@pytest.mark.parametrize("body", [{}, {"enabled": None}, {"enabled": "false"}, {"enabled": 0}])
def test_a_switch_is_true_or_false(app: App, body: Json) -> None:
    answer = app.client.patch(f"/v1/chunks/{uuid.uuid4()}", json=body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/enabled"


def test_only_so_many_chunks_of_a_dataset_are_off(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_chunks, "MOST_DISABLED", 1)
    dataset = app.dataset()
    document = app.put(dataset, "a", near("one", 0.9), near("two", 0.8))
    first, second = chunks_of(app, document)
    switch(app, first, False)
    refused = app.client.patch(f"/v1/chunks/{second['id']}", json={"enabled": False})
    assert refused.status_code == 409
    assert "whole documents" in refused.json()["detail"]
    assert [each["enabled"] for each in chunks_of(app, document)] == [False, True]


def test_a_child_that_is_off_does_not_bring_its_parent(app: App) -> None:
    dataset = app.economy(chunking={"strategy": "parent_child", "size": 8, "overlap": 0})
    document = app.put_text(dataset, "a.txt", "Alpha is one word here.\n\nOmega is another one.\n")
    chunks = chunks_of(app, document)
    assert len(chunks) > 1
    [omega] = [each for each in chunks if "Omega" in each["content"]]
    assert (
        len(app.titles(dataset, "omega", search_method="full_text_search", query_vector=None)) == 1
    )
    switch(app, omega, False)
    assert app.titles(dataset, "omega", search_method="full_text_search", query_vector=None) == []


def test_a_chunk_switched_off_during_a_query_gives_its_place_to_the_next(
    in_memory: Callable[[InMemoryChunks], App],
) -> None:
    class Switching(InMemoryChunks):
        def search_vector(self, scope: SearchScope, *args: Any, **more: Any) -> list[Any]:
            found = super().search_vector(scope, *args, **more)
            switch(app, first, False)
            return found

    app = in_memory(Switching())
    dataset = app.dataset()
    document = app.put(dataset, "a", near("refund policy", 0.9), near("refund window", 0.5))
    first, _ = chunks_of(app, document)
    found = app.retrieve(dataset, "refund", search_method="semantic_search", top_k=1)["records"]
    assert [record["content"] for record in found] == ["refund window"]
