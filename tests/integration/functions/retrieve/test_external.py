"""External knowledge bases beside our own, over real stores and a server that speaks Dify's API."""

import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, event

from functions.retrieve.pool import Pool
from shared.errors import IndexUnavailable
from tests.integration.app import App, Json, build, group, near, where
from tests.integration.watched import Watched
from tests.servers.external import KEY, ExternalServer, record, refuse
from tests.servers.server import Reply


@dataclass(frozen=True)
class World:
    """The application, and a server that it may ask."""

    app: App
    server: ExternalServer
    own: str

    def external(self, *records: Any, knowledge_id: str | None = None, **body: Any) -> str:
        """Makes an external dataset whose base answers these records."""
        name = knowledge_id or uuid.uuid4().hex
        self.server.bases[name] = list(records)
        return self.app.make(
            {
                "provider": "external",
                "external": {
                    "endpoint": self.server.endpoint,
                    "knowledge_id": name,
                    "api_key": KEY,
                },
            }
            | body
        )

    def broken(self, reply: Reply) -> str:
        name = uuid.uuid4().hex
        made = self.external(knowledge_id=name)
        self.server.bases[name] = reply
        return made


@pytest.fixture(scope="module")
def started(app: App, database: Engine) -> Iterator[World]:
    with ExternalServer().running() as server:
        assert isinstance(server, ExternalServer)
        made = build(
            database,
            app.index,
            app.search,
            app.content,
            threads=8,
            external_hosts=server.host,
        )
        own = made.dataset()
        made.put(own, "near", near("refund policy", 0.9), metadata={"lang": "en"})
        made.put(own, "far", near("refund", 0.2), metadata={"lang": "zh"})
        yield World(made, server, own)
        made.retrieve_parts.searcher.pool.close()


@pytest.fixture
def world(started: World) -> World:
    started.server.requests.clear()
    return started


def shown(found: Json) -> list[tuple[str, float]]:
    return [(each["title"], round(each["score"], 4)) for each in found["records"]]


METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]


def test_external_hits_join_by_their_own_score(world: World) -> None:
    outside = world.external(record("top", 0.95), record("middle", 0.5), record("low", 0.1))
    found = world.app.retrieve(
        [world.own, outside], "refund", search_method="semantic_search", top_k=5
    )
    assert shown(found) == [
        ("top", 0.95), ("near", 0.9), ("middle", 0.5), ("far", 0.2), ("low", 0.1),
    ]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_they_join_whatever_the_method(world: World, method: str) -> None:
    outside = world.external(record("top", 1.5), record("none", -3))
    found = world.app.retrieve([world.own, outside], "refund", search_method=method, top_k=10)
    scores = dict(shown(found))
    assert scores["top"] == 1.0
    assert scores["none"] == 0.0
    assert scores.keys() == {"top", "near", "far", "none"}


@pytest.mark.parametrize("fusion", ["rrf", "none", "weighted_score"])
def test_fusion_leaves_their_scores_alone(world: World, fusion: str) -> None:
    outside = world.external(record("a", 0.42))
    found = world.app.retrieve([world.own, outside], "refund", fusion={"method": fusion})
    alone = world.app.retrieve(world.own, "refund", fusion={"method": fusion})
    assert dict(shown(found))["a"] == 0.42
    assert [each for each in shown(found) if each[0] != "a"] == shown(alone)


def test_a_record_shows_what_its_base_said_of_it(world: World) -> None:
    metadata = {"source": "https://kb.example/1", "pages": 3, "tags": ["x"], "none": None}
    outside = world.external(record("text", 0.5, title="Title", metadata=metadata))
    [shown] = world.app.retrieve(outside, "refund", explain=True)["records"]
    assert shown == {
        "chunk_id": None,
        "document_id": None,
        "dataset_id": outside,
        "score": 0.5,
        "content": "text",
        "title": "Title",
        "metadata": metadata,
        "position": None,
        "page": None,
        "source": "https://kb.example/1",
        "explain": {
            "channels": {f"external:{outside}": {"rank": 1, "score": 0.5}},
            "vector_score": None,
            "keyword_score": None,
            "weights": None,
            "rerank_score": None,
            "final_score": 0.5,
            "threshold": None,
        },
    }


def test_the_threshold_holds_for_them_and_is_sent_along(world: World) -> None:
    outside = world.external(record("kept", 0.6), record("at", 0.5), record("dropped", 0.49))
    found = world.app.retrieve(outside, "refund", score_threshold=0.5, top_k=1, explain=True)
    assert shown(found) == [("kept", 0.6)]
    reasons = [(each["reason"], each["explain"]["final_score"]) for each in found["dropped"]]
    assert reasons == [("top_k", 0.5), ("threshold", 0.49)]
    [request] = world.server.requests
    assert request.body["retrieval_setting"] == {"top_k": 1, "score_threshold": 0.5}


def test_without_a_threshold_or_with_a_negative_one_nothing_is_held_back(world: World) -> None:
    outside = world.external(record("a", 0.0))
    for threshold in (None, -0.5):
        assert world.app.titles(outside, "refund", score_threshold=threshold) == ["a"]
    sent = [each.body["retrieval_setting"]["score_threshold"] for each in world.server.requests]
    assert sent == [0.0, 0.0]


def test_d06_top_k_is_for_all_bases_together(world: World) -> None:
    bases = [
        world.external(*(record(f"{base}{n}", base / 10 + n / 100) for n in range(5)))
        for base in (1, 2, 3)
    ]
    assert world.app.titles(bases, "refund", top_k=4) == ["34", "33", "32", "31"]
    every = [world.own, *bases]
    mixed = world.app.titles(every, "refund", top_k=4, search_method="semantic_search")
    assert mixed == ["near", "34", "33", "32"]


def test_f08_the_same_text_counts_once_a_source(world: World) -> None:
    first, second = {"source": "one"}, {"source": "two"}
    outside = world.external(
        record("text", 0.9, title="a", metadata=first),
        record("text", 0.8, title="b", metadata=first),
        record("text", 0.7, title="c", metadata=second),
        record("named", 0.6, title="x"),
        record("named", 0.5, title="x"),
        record("named", 0.4, title="y"),
    )
    found = world.app.retrieve(outside, "refund", top_k=10, explain=True)
    assert [(each["title"], each["score"]) for each in found["records"]] == [
        ("a", 0.9), ("c", 0.7), ("x", 0.6), ("y", 0.4),
    ]  # fmt: skip
    ranks = [each["explain"]["channels"][f"external:{outside}"] for each in found["records"]]
    assert [each["rank"] for each in ranks] == [1, 2, 3, 4]


def test_f08_the_same_text_of_two_bases_is_two_hits(world: World) -> None:
    bases = [world.external(record("text", 0.5)) for _ in range(2)]
    assert world.app.titles(bases, "refund") == ["text", "text"]


def test_n02_records_that_lack_things_are_read_all_the_same(world: World) -> None:
    outside = world.external(
        {},
        {"content": "a"},
        {"content": "b", "score": None, "metadata": None},
        {"content": None, "score": 0.9},
        {"content": "c", "score": "0.8"},
    )
    found = world.app.ask(outside, "refund", on_channel_failure="error").json()
    records = {each["content"]: (each["score"], each["metadata"]) for each in found["records"]}
    assert records == {"c": (0.8, {}), "a": (0.0, {}), "b": (0.0, {})}
    assert found["degraded"] == [
        {
            "channel": f"external:{outside}",
            "reason": "2 of its 5 records have no readable text: left out",
        }
    ]


def test_the_conditions_arrive_as_they_were_sent(world: World) -> None:
    outside = world.external(record("a", 0.5))
    filtering = where(
        ("lang", "is", "{{lang}}"),
        ("pages", ">", "{{least}}"),
        ("tags", "not in", ["{{lang}}", "x"]),
        ("note", "empty"),
        ("name", "==", "in {{lang}}"),
        group("or", ("a", "≥", 1), ("b", "before", "2026-01-01")),
        joiner="OR",
        inputs={"lang": "en", "least": 5},
    )
    assert world.app.titles(outside, "refund", metadata_filtering=filtering) == ["a"]
    assert world.server.requests[0].body["metadata_condition"] == {
        "logical_operator": "or",
        "conditions": [
            {"name": "lang", "comparison_operator": "is", "value": "en"},
            {"name": "pages", "comparison_operator": ">", "value": 5},
            {"name": "tags", "comparison_operator": "not in", "value": ["en", "x"]},
            {"name": "note", "comparison_operator": "empty"},
            {"name": "name", "comparison_operator": "==", "value": "in en"},
            {
                "logical_operator": "or",
                "conditions": [
                    {"name": "a", "comparison_operator": "≥", "value": 1},
                    {"name": "b", "comparison_operator": "before", "value": "2026-01-01"},
                ],
            },
        ],
    }


@pytest.mark.parametrize("filtering", [None, {"mode": "disabled"}, where()])
def test_no_filter_is_sent_as_null(world: World, filtering: Json | None) -> None:
    outside = world.external(record("a", 0.5))
    world.app.retrieve(outside, "refund", metadata_filtering=filtering)
    assert world.server.requests[0].body["metadata_condition"] is None


def test_a_wrong_filter_is_refused_before_anyone_is_asked(world: World) -> None:
    outside = world.external(record("a", 0.5))
    refused = world.app.ask(outside, "refund", metadata_filtering=where(("lang", "like", "e")))
    assert refused.status_code == 400
    assert world.server.requests == []


def test_a_filter_that_leaves_nothing_of_ours_still_asks_the_others(world: World) -> None:
    outside = world.external(record("a", 0.5))
    watched = Watched(world.app.search)
    found = world.app.with_search(watched).retrieve(
        [world.own, outside], "refund", metadata_filtering=where(("lang", "is", "fr"))
    )
    assert shown(found) == [("a", 0.5)]
    assert found["applied_filter"]["matched_documents"] == 0
    assert watched.calls == []


@pytest.fixture
def statements(app: App) -> Iterator[list[str]]:
    sent: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(app.engine, "before_cursor_execute", note)
    yield sent
    event.remove(app.engine, "before_cursor_execute", note)


def test_external_bases_alone_cost_no_search_and_no_statement(
    world: World, statements: list[str]
) -> None:
    outside = [world.external(record("a", 0.5)), world.external(record("b", 0.6))]
    watched = Watched(world.app.search)
    statements.clear()
    found = world.app.with_search(watched).retrieve(outside, "refund", query_vector=None)
    assert shown(found) == [("b", 0.6), ("a", 0.5)]
    assert watched.calls == []
    assert len(statements) == 1, "the datasets, and nothing more"
    assert found["timings_ms"].keys() >= {"external", "total"}


@pytest.mark.parametrize(
    "reply",
    [
        refuse(500, 1, "broken"),
        refuse(403, 1002, "wrong key"),
        Reply(b"<html>"),
        Reply(status=302, headers={"Location": "http://127.0.0.1/"}),
        Reply(hang_up=True),
    ],
)
def test_one_failing_base_degrades_alone(world: World, reply: Reply) -> None:
    broken, fine = world.broken(reply), world.external(record("fine", 0.95))
    body: Json = {"query_vector": [1, 0], "search_method": "semantic_search"}
    found = world.app.ask([broken, world.own, fine], "refund", **body).json()
    assert [each["title"] for each in found["records"]] == ["fine", "near", "far"]
    [degraded] = found["degraded"]
    assert degraded["channel"] == f"external:{broken}"
    assert KEY not in degraded["reason"]
    strict = world.app.ask([broken, world.own, fine], "refund", on_channel_failure="error", **body)
    assert strict.status_code == 503
    assert f"external:{broken}" in strict.json()["detail"]


def test_where_every_base_fails_and_nobody_else_was_asked_the_query_fails(world: World) -> None:
    broken = [world.broken(refuse(500, 1, "broken")) for _ in range(2)]
    answer = world.app.ask(broken, "refund")
    assert answer.status_code == 503
    assert all(f"external:{each}" in answer.json()["detail"] for each in broken)


def test_our_own_answer_of_nothing_is_one(world: World) -> None:
    broken = world.broken(refuse(500, 1, "broken"))
    answer = world.app.ask(
        [world.own, broken], "refund", query_vector=[1, 0],
        metadata_filtering=where(("lang", "is", "fr")),
    )  # fmt: skip
    assert answer.status_code == 200
    assert answer.json()["records"] == []
    assert [each["channel"] for each in answer.json()["degraded"]] == [f"external:{broken}"]


def silence() -> None:
    raise IndexUnavailable


def test_where_our_own_channels_fail_the_external_hits_are_left(world: World) -> None:
    outside, broken = world.external(record("a", 0.5)), world.broken(refuse(500, 1, "broken"))
    watched = Watched(world.app.search)
    watched.instead = {"search_vector": silence, "search_text": silence}
    app = world.app.with_search(watched)
    found = app.ask([world.own, outside], "refund", query_vector=[1, 0]).json()
    assert [each["title"] for each in found["records"]] == ["a"]
    assert {each["channel"] for each in found["degraded"]} == {"vector", "text"}
    assert app.ask([world.own, broken], "refund", query_vector=[1, 0]).status_code == 503
    strict = app.ask(
        [world.own, outside], "refund", query_vector=[1, 0], on_channel_failure="error"
    )
    assert strict.status_code == 503


def test_a_late_base_is_not_waited_for(world: World) -> None:
    late = world.broken(Reply({"records": []}, delay=30))
    found = world.app.ask(
        [world.own, late], "refund", query_vector=[1, 0], deadline_ms=1_500
    ).json()
    assert {each["title"] for each in found["records"]} == {"near", "far"}
    [degraded] = found["degraded"]
    assert degraded["channel"] == f"external:{late}"
    assert "no answer within" in degraded["reason"]


def test_a_full_pool_degrades_and_does_not_wait(world: World) -> None:
    # Long enough that the third is asked while the first two are still at work.
    slow = [Reply({"records": [record(text, 0.5)]}, delay=0.5) for text in ("a", "b")]
    pool = Pool(2)
    found = (
        world.app.with_search(world.app.search, pool)
        .ask([*map(world.broken, slow), world.external()], "refund")
        .json()
    )
    assert len(found["records"]) == 2
    assert [each["reason"] for each in found["degraded"]] == ["every search thread is busy"]
    pool.close()


def test_bases_take_no_threads_from_the_channels(world: World) -> None:
    pool, outside = Pool(3), Pool(1)
    # Long enough that the second is asked while the first is still at work.
    slow = Reply({"records": [record("a", 0.5)]}, delay=0.5)
    bases = [world.broken(slow), world.external(record("b", 0.6))]
    found = (
        world.app.with_search(world.app.search, pool, outside=outside)
        .ask([*bases, world.own], "refund", query_vector=[1, 0])
        .json()
    )
    assert {each["title"] for each in found["records"]} == {"a", "near", "far"}
    assert [each["channel"] for each in found["degraded"]] == [f"external:{bases[1]}"]
    pool.close()
    outside.close()


def test_their_own_settings_hold_where_they_come_first(world: World) -> None:
    outside = world.external(record("a", 0.3), record("b", 0.2), retrieval={"top_k": 1})
    assert world.app.titles([outside, world.own], "refund") == ["near"]
    economy = world.app.economy()
    world.app.put_text(economy, "words", "refund policy")
    assert world.app.titles([outside, economy], "refund", top_k=5, query_vector=None) == [
        "words", "a", "b",
    ]  # fmt: skip


def test_the_key_is_shown_nowhere(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    name = uuid.uuid4().hex
    outside = world.external(record("a", 0.5), name=name)
    broken = world.broken(refuse(403, 1002, f"wrong key: {KEY}"))
    client = world.app.client
    again = client.post(
        "/v1/datasets",
        json={
            "name": name,
            "provider": "external",
            "external": {"endpoint": world.server.endpoint, "knowledge_id": "k", "api_key": KEY},
        },
    )
    assert again.status_code == 409
    bad = {"endpoint": world.server.endpoint, "knowledge_id": "", "api_key": f"{KEY} {KEY}"}
    answers = [
        client.get(f"/v1/datasets/{outside}"),
        client.get("/v1/datasets"),
        client.patch(f"/v1/datasets/{outside}", json={"description": "words"}),
        client.patch(f"/v1/datasets/{outside}", json={"external": bad}),
        world.app.ask([outside, broken], "refund", explain=True),
        world.app.ask(broken, "refund"),
        again,
    ]
    kept = "SELECT external ->> 'api_key' FROM datasets WHERE id = :id"
    assert world.app.scalar(kept, id=outside) == KEY
    for answer in answers:
        assert KEY not in answer.text
    written = capfd.readouterr()
    assert KEY not in caplog.text + written.out + written.err
