"""When channels are late, fail or are not needed."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from pg8000.core import CoreConnection
from sqlalchemy import text

from functions.retrieve.pool import Pool
from shared.errors import ConfigurationError
from shared.model import Action, Change, EmbeddingSpace, Hit
from shared.models.bedrock import TitanEmbedder
from shared.models.bedrock_client import BedrockRuntime
from shared.models.openai_compatible import OpenAICompatibleEmbedder
from shared.models.transport import Transport
from shared.ports import Embedder
from shared.postgres import outbox
from shared.postgres.engine import transaction
from shared.settings import DEFAULT_TENANT
from tests.integration.app import App, Embedders, Json, near, where
from tests.integration.watched import InTurn, Watched, refuse, silence
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.server import wait_for
from tests.servers.talk import talking_server

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]


class Dripping(Embedders):
    """One embedder for every space, whose server never comes to an end."""

    def __init__(self, provider: str, url: str) -> None:
        super().__init__()
        space = EmbeddingSpace(provider, "m", 256)
        self._embedder: Embedder = (
            TitanEmbedder(space, BedrockRuntime(Transport(4), url), timeout=60)
            if provider == "bedrock"
            else OpenAICompatibleEmbedder(
                space, Transport(4), base_url=url, api_key=None, timeout=60
            )
        )

    def __call__(self, _: EmbeddingSpace) -> Embedder | None:
        return self._embedder


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    made = app.dataset()
    app.put(made, "near", near("something else", 0.9), metadata={"lang": "en"})
    app.put(made, "word", near("refund policy", 0.1), metadata={"lang": "zh"})
    return made


@pytest.fixture
def watched(app: App) -> Watched:
    return Watched(app.search)


def test_nothing_is_searched_where_the_filter_matches_nothing(
    app: App, watched: Watched, dataset: str
) -> None:
    for method in METHODS:
        found = app.with_search(watched).retrieve(
            dataset,
            "refund",
            search_method=method,
            metadata_filtering=where(("lang", "is", "fr")),
        )
        assert found["records"] == []
        assert found["applied_filter"]["matched_documents"] == 0
    assert watched.calls == []


def test_nothing_is_searched_where_nothing_passes_in_any_of_several_datasets(
    app: App, watched: Watched, dataset: str
) -> None:
    others = [app.dataset(), app.economy()]
    app.put(others[0], "other", near("refund policy", 0.99), metadata={"lang": "de"})
    app.put_text(others[1], "words", "refund policy", metadata={"lang": ["it", 3]})
    found = app.with_search(watched).retrieve(
        [dataset, *others],
        "refund",
        query_vector=None,
        search_method="full_text_search",
        metadata_filtering=where(("lang", "in", ["fr", "pt"])),
    )
    assert found["records"] == []
    assert found["applied_filter"]["matched_documents"] == 0
    assert found["timings_ms"].keys() == {"prefilter", "total"}
    assert watched.calls == []


def test_an_empty_dataset_is_not_searched(app: App, watched: Watched) -> None:
    assert app.with_search(watched).titles(app.dataset(), "refund") == []
    assert watched.calls == []


def test_a_filter_that_matches_in_one_dataset_searches_that_alone(app: App, dataset: str) -> None:
    other = app.dataset()
    app.put(other, "other", near("refund policy", 0.99), metadata={"lang": "de"})
    for method in METHODS:
        found = app.retrieve(
            [other, dataset],
            "refund",
            search_method=method,
            metadata_filtering=where(("lang", "is", "zh")),
        )
        assert [record["title"] for record in found["records"]] == ["word"]


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that any engine has the driver send, kept ones each time they run."""
    sent: list[str] = []

    def watch(name: str) -> None:
        send = getattr(CoreConnection, name)

        def note(self: CoreConnection, *args: Any, **more: Any) -> Any:
            sent.extend(each for each in [*args, *more.values()] if isinstance(each, str))
            return send(self, *args, **more)

        monkeypatch.setattr(CoreConnection, name, note)

    for name in ("execute_simple", "execute_unnamed", "execute_named"):
        watch(name)
    return sent


def test_disabled_mode_sends_no_statement_for_the_filter(
    app: App, dataset: str, statements: list[str], driven: list[str]
) -> None:
    for filtering in (None, {"mode": "disabled"}, where()):
        statements.clear()
        found = app.retrieve(dataset, "refund", metadata_filtering=filtering)
        assert len(found["records"]) == 2
        assert len(statements) == 2  # datasets, passages
        for method in METHODS:
            app.retrieve(dataset, "refund", search_method=method, metadata_filtering=filtering)
    assert any("documents" in each for each in driven)
    assert not any("filter_values" in each for each in driven)
    for method in METHODS:
        driven.clear()
        filtering = where(("lang", "is", "zh"))
        app.retrieve(dataset, "refund", search_method=method, metadata_filtering=filtering)
        # Once to find the documents, once to answer none that has changed since.
        assert ["filter_values" in each for each in driven].count(True) == 2, method


@pytest.mark.parametrize("failure", [silence, refuse])
@pytest.mark.parametrize(
    ("call", "channel", "expected"),
    [("search_vector", "vector", ["word"]), ("search_text", "text", ["near", "word"])],
)
def test_a_failing_channel_degrades_the_answer_and_is_named(
    app: App,
    watched: Watched,
    dataset: str,
    failure: Callable[[], None],
    call: str,
    channel: str,
    expected: list[str],
) -> None:
    watched.instead[call] = failure
    answer = app.with_search(watched).ask(dataset, "refund policy", query_vector=[1, 0])
    assert answer.status_code == 200
    assert [record["title"] for record in answer.json()["records"]] == expected
    [degraded] = answer.json()["degraded"]
    assert degraded["channel"] == channel
    assert degraded["reason"]


@pytest.mark.parametrize("failure", [silence, refuse])
@pytest.mark.parametrize("call", ["search_vector", "search_text"])
def test_a_failing_channel_is_an_error_where_the_query_says_so(
    app: App, watched: Watched, dataset: str, failure: Callable[[], None], call: str
) -> None:
    watched.instead[call] = failure
    answer = app.with_search(watched).ask(
        dataset, "refund", query_vector=[1, 0], on_channel_failure="error"
    )
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert answer.headers["content-type"] == "application/problem+json"


def test_hits_of_the_text_channel_alone_get_their_true_cosine(app: App, watched: Watched) -> None:
    given, embedded = app.dataset(), app.embedded()
    app.put(given, "a", near("refund policy", 0.6))
    app.put_text(embedded, "a", "refund policy")
    for dataset, vector in ((given, [1, 0]), (embedded, None)):
        asked: Json = {"query_vector": vector, "explain": True}
        [whole] = app.retrieve(dataset, "the policy", **asked)["records"]
        watched.instead["search_vector"] = list
        [found] = app.with_search(watched).retrieve(dataset, "the policy", **asked)["records"]
        assert set(found["explain"]["channels"]) == {"text"}
        assert found["explain"]["vector_score"] == whole["explain"]["vector_score"] > 0
    # A vector that is there from the start goes along with the text query.
    assert watched.calls.count("find_cosines") == 1


def test_missing_cosines_degrade_or_fail_as_the_query_says(app: App, watched: Watched) -> None:
    embedded = app.embedded()
    app.put_text(embedded, "a.md", "refund policy")
    watched.instead["find_cosines"] = refuse
    # What the vector channel does not bring needs its cosine looked up.
    watched.instead["search_vector"] = list
    ask = app.with_search(watched).ask
    answer = ask(embedded, "refund policy")
    assert [record["title"] for record in answer.json()["records"]] == ["a.md"]
    assert [each["channel"] for each in answer.json()["degraded"]] == ["vector"]
    assert ask(embedded, "refund policy", on_channel_failure="error").status_code == 503


@pytest.mark.parametrize("method", METHODS)
def test_when_every_channel_fails_the_answer_is_503(
    app: App, watched: Watched, dataset: str, method: str
) -> None:
    for call in ("search_vector", "search_text", "search_keywords", "sum_idf"):
        watched.instead[call] = silence
    answer = app.with_search(watched).ask(
        dataset, "refund", query_vector=[1, 0], search_method=method
    )
    assert answer.status_code == 503


CHANNELS = ["search_vector", "search_text"]


@pytest.mark.parametrize(
    ("fusion", "calls"),
    [
        ({"keyword_scoring": "dify"}, CHANNELS),
        ({"keyword_scoring": "bm25"}, [*CHANNELS, "sum_idf"]),
        ({"method": "rrf"}, CHANNELS),
        ({"method": "none"}, CHANNELS),
    ],
)
def test_it_does_not_matter_which_channel_answers_first(
    app: App, fusion: Json, calls: list[str]
) -> None:
    dataset = app.dataset()
    words = ["refund", "policy", "annual", "plan"]
    for n in range(12):
        text = " ".join(words[: 1 + n % 4]) if n % 3 else f"other {n}"
        app.put(dataset, str(n), near(text, n / 12))
    asked: Json = {"fusion": fusion, "explain": True, "top_k": 8}
    found = [
        app.with_search(InTurn(app.search, *order)).retrieve(dataset, "refund plan", **asked)
        for order in itertools.permutations(calls, 2)
    ]
    assert len(found[0]["records"]) == 8
    for other in found[1:]:
        assert other["records"] == found[0]["records"]
        assert other["dropped"] == found[0]["dropped"]


def test_e11_a_hit_without_a_score_gets_its_true_cosine(
    app: App, watched: Watched, dataset: str
) -> None:
    [near_one, word] = app.retrieve(dataset, "unknown", explain=True)["records"]
    watched.instead["search_vector"] = lambda: [
        Hit(word["chunk_id"], None),
        Hit(near_one["chunk_id"], 0.9, 0.9),
    ]
    found = app.with_search(watched).retrieve(dataset, "unknown", explain=True)
    cosines = [record["explain"]["vector_score"] for record in found["records"]]
    assert cosines == pytest.approx([0.9, 0.1], abs=1e-5)
    assert found["records"][1]["explain"]["channels"]["vector"] == {"rank": 1, "score": None}


def test_a_late_channel_is_left_behind_at_the_deadline(
    app: App, watched: Watched, dataset: str
) -> None:
    asleep = threading.Event()
    pool = Pool(16)
    watched.instead["search_vector"] = lambda: asleep.wait(30) and []
    slow = app.with_search(watched, pool)
    try:
        answer = slow.ask_in_time("vector", dataset, "refund policy", query_vector=[1, 0])
        assert [record["title"] for record in answer["records"]] == ["word"]
        assert answer["degraded"] == [
            {"channel": "vector", "reason": "no answer within the deadline"}
        ]
        watched.instead["search_text"] = watched.instead["search_vector"]
        begun = time.monotonic()
        refused = slow.ask(dataset, "refund policy", query_vector=[1, 0], deadline_ms=300)
        assert refused.status_code == 503
        assert time.monotonic() - begun < 25  # it did not wait for the channels
    finally:
        asleep.set()
        pool.close()


def test_a_full_pool_degrades_and_does_not_wait(app: App, watched: Watched, dataset: str) -> None:
    asleep = threading.Event()
    pool = Pool(2)
    assert pool.start(lambda: asleep.wait(30)) is not None
    narrow = app.with_search(watched, pool)
    try:
        answer = narrow.ask(dataset, "refund policy", query_vector=[1, 0])
        assert [each["reason"] for each in answer.json()["degraded"]] == [
            "every search thread is busy"
        ]
        assert pool.start(lambda: asleep.wait(30)) is not None
        assert narrow.ask(dataset, "refund", query_vector=[1, 0]).status_code == 503
    finally:
        asleep.set()
        pool.close()


def test_a_silent_embedder_leaves_the_text_channel(app: App, watched: Watched) -> None:
    embedded = app.embedded()
    app.put_text(embedded, "a.md", "refund policy")
    broken = Embedders()
    [space] = [each for each in app.embedders.made if each.model == "fake"]
    broken(space)
    broken.made[space].broken = "the model sleeps"
    answer = app.with_search(watched, embedders=broken).ask(embedded, "refund policy")
    assert [record["title"] for record in answer.json()["records"]] == ["a.md"]
    assert answer.json()["degraded"] == [{"channel": "vector", "reason": "the model sleeps"}]
    semantic: Json = {"search_method": "semantic_search"}
    answer = app.with_search(watched, embedders=broken).ask(embedded, "refund policy", **semantic)
    assert answer.status_code == 503


@pytest.mark.parametrize("provider", ["bedrock", "openai_compatible"])
def test_an_embedder_that_drips_is_left_at_the_deadline(
    app: App, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    dataset = app.embedded()
    app.put_text(dataset, "a.md", "refund policy")
    pool = Pool(8)
    with talking_server([b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"], then=b" ") as (
        host,
        hung_up,
    ):
        dripping = app.with_search(app.search, pool, Dripping(provider, f"http://{host}"))
        answer = dripping.ask_in_time("vector", dataset, "refund policy")
        assert [record["title"] for record in answer["records"]] == ["a.md"]
        wait_for(hung_up.is_set)  # so no thread reads on
        semantic: Json = {"search_method": "semantic_search", "deadline_ms": 300}
        assert dripping.ask(dataset, "refund policy", **semantic).status_code == 503
    pool.close()


def test_a_misconfigured_embedder_leaves_the_text_channel_and_tells_nothing(
    app: App, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    embedded = app.embedded()
    app.put_text(embedded, "a.md", "refund policy")

    class Misconfigured(Embedders):
        def __call__(self, space: EmbeddingSpace) -> Embedder | None:
            raise ConfigurationError(f"WINNOW_SOMETHING is not set for {space.model}")

    ask = app.with_search(watched, embedders=Misconfigured()).ask
    answer = ask(embedded, "refund policy")
    assert answer.status_code == 200
    assert [record["title"] for record in answer.json()["records"]] == ["a.md"]
    reason = "an unexpected error; the logs tell more"
    assert answer.json()["degraded"] == [{"channel": "vector", "reason": reason}]
    assert "WINNOW_SOMETHING" in str([vars(record).get("stack") for record in caplog.records])
    assert ask(embedded, "refund policy", search_method="semantic_search").status_code == 503


def test_health(app: App, watched: Watched) -> None:
    seen = app.with_search(watched)
    assert seen.client.get("/health").json() == {"status": "ok"}
    deep = seen.client.get("/health?deep=1").json()
    assert deep.pop("oldest_work_seconds") >= 0
    assert deep == {"status": "ok", "postgres": "ok", "opensearch": "ok"}
    watched.instead["ping"] = silence
    deep = seen.client.get("/health?deep=1")
    assert deep.status_code == 503
    assert deep.json()["opensearch"] == "The search index does not answer."
    assert seen.client.get("/health", headers={"Authorization": ""}).status_code == 200


def test_o03_health_is_degraded_once_work_has_waited_for_too_long(app: App) -> None:
    dataset = app.dataset()
    id_ = app.put(dataset, "a", near("refund", 0.9))["id"]
    with transaction(app.engine) as connection:
        outbox.put(connection, Change(DEFAULT_TENANT, dataset, id_, 1, Action.INDEX))
        ago = "UPDATE outbox SET created_at = now() - interval '16 minutes' WHERE document_id = :id"
        connection.execute(text(ago), {"id": id_})
    degraded = app.client.get("/health?deep=1")
    app.client.post(f"/v1/documents/{id_}/retry?wait=true")
    assert (degraded.status_code, degraded.json()["status"]) == (200, "degraded")
    assert degraded.json()["oldest_work_seconds"] >= 16 * 60
    assert app.client.get("/health?deep=1").json()["status"] == "ok"
