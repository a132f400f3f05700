"""Reranking through the API: the model's scores, or why they are not there."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import Engine

from functions.retrieve.pool import Pool
from local.artifacts import model_files
from shared.errors import ConfigurationError, IndexUnavailable, RerankerFailed
from shared.models.bedrock_client import BedrockClient
from shared.models.rerank_bedrock import MODELS, SERVICE, BedrockReranker
from shared.models.rerank_cohere_compatible import CohereCompatibleReranker
from shared.models.rerank_local import MODEL, LocalReranker
from shared.models.rerank_tei import TeiReranker
from shared.models.rerankers import make_reranker
from shared.models.transport import Transport
from tests.fakes.chunks import InMemoryChunks
from tests.fakes.reranker import FakeReranker, FakeRerankers
from tests.fakes.settings import make_settings
from tests.integration.app import App, Json, build, near, where
from tests.integration.watched import Watched
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.external import KEY, ExternalServer, record
from tests.servers.rerank import BedrockRerankServer, CohereServer, TeiServer
from tests.servers.server import ModelServer, Reply

METHODS = ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]
RERANKED: Json = {
    "fusion": {
        "method": "reranking_model",
        "keyword_scoring": "dify",
        "weights": {"vector": 0.7, "keyword": 0.3},
    }
}
FLOAT32 = 1e-5


def shown(found: Json) -> list[tuple[str, float]]:
    return [(each["title"], round(each["score"], 4)) for each in found["records"]]


def scoring(scores: dict[str, float], most: int = 1_000) -> FakeRerankers:
    """Returns a model that gives each content its score."""
    return FakeRerankers(FakeReranker(lambda _, passage: scores[passage], most))


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    """By weighted score "twice", "annual", "shipping": .58, .566605, .14."""
    made = app.dataset()
    app.put(made, "twice", near("refund policy refund policy", 0.40), metadata={"lang": "en"})
    app.put(made, "annual", near("refund policy for annual plans", 0.55), metadata={"lang": "en"})
    app.put(made, "shipping", near("shipping times", 0.20), metadata={"lang": "zh"})
    return made


SCORES = {
    "refund policy refund policy": 0.2,
    "refund policy for annual plans": 0.9,
    "shipping times": 0.6,
}
BY_MODEL = [("annual", 0.9), ("shipping", 0.6), ("twice", 0.2)]
BY_WEIGHT = [("twice", 0.58), ("annual", 0.5666), ("shipping", 0.14)]


def test_the_models_scores_are_the_final_ones(app: App, dataset: str) -> None:
    rerankers = scoring(SCORES)
    found = app.with_reranker(rerankers).retrieve(
        dataset, "refund policy", explain=True, **RERANKED
    )
    assert shown(found) == BY_MODEL
    [(query, passages, _)] = rerankers.reranker.asked
    assert query == "refund policy"
    assert sorted(passages) == sorted(SCORES)
    assert rerankers.named == [(None, None)]
    assert "rerank" in found["timings_ms"]
    explained = {each["title"]: each["explain"] for each in found["records"]}
    assert explained["annual"] == {
        "channels": explained["annual"]["channels"],
        "vector_score": pytest.approx(0.55, abs=FLOAT32),
        "keyword_score": pytest.approx(0.605349, abs=FLOAT32),
        "weights": None,
        "rerank_score": 0.9,
        "final_score": 0.9,
        "threshold": None,
    }
    assert explained["annual"]["channels"]["vector"]["rank"] == 1


@pytest.mark.parametrize("method", METHODS)
def test_it_goes_with_every_search_method(app: App, dataset: str, method: str) -> None:
    found = app.with_reranker(scoring(SCORES)).retrieve(
        dataset, "refund policy", search_method=method, **RERANKED
    )
    by_words = method in {"full_text_search", "keyword_search"}
    assert shown(found) == [each for each in BY_MODEL if not by_words or each[0] != "shipping"]


def test_the_model_reads_the_headings_that_lead_to_a_chunk(app: App) -> None:
    made = app.economy()
    app.put_text(made, "a.md", "# Refunds\n\n## Exceptions\n\nAdd-ons are not refunded.\n")
    rerankers = FakeRerankers()
    found = app.with_reranker(rerankers).retrieve(made, "refunded", query_vector=None, **RERANKED)
    [(_, [passage], _)] = rerankers.reranker.asked
    assert passage.startswith("Refunds")
    assert passage.endswith(found["records"][0]["content"])


def test_h01_no_candidates_are_no_call(app: App, dataset: str) -> None:
    rerankers = FakeRerankers()
    reranking = app.with_reranker(rerankers)
    assert reranking.titles(app.dataset(), "refund", **RERANKED) == []
    words: Json = {"search_method": "full_text_search"}
    assert reranking.titles(dataset, "xylophone", **words, **RERANKED) == []
    nobody = where(("lang", "is", "fr"))
    assert reranking.titles(dataset, "refund", metadata_filtering=nobody, **RERANKED) == []
    assert rerankers.reranker.asked == []


def test_h04_threshold_and_order_are_those_of_its_scores(app: App) -> None:
    made = app.dataset()
    scores = {"best": 0.9, "one half": 0.5, "other half": 0.5, "just below": 0.49}
    app.put(made, "a", *(near(text, 0.3) for text in scores))
    reranking = app.with_reranker(scoring(scores))
    asked = RERANKED | {"score_threshold": 0.5}
    two = reranking.retrieve(made, "q", top_k=2, **asked)["records"]
    ten = reranking.retrieve(made, "q", top_k=10, explain=True, **asked)
    assert [each["score"] for each in ten["records"]] == [0.9, 0.5, 0.5]
    ids = [each["chunk_id"] for each in ten["records"]]
    assert ids[1:] == sorted(ids[1:])
    assert [each["chunk_id"] for each in two] == ids[:2]
    [dropped] = ten["dropped"]
    assert (dropped["reason"], dropped["explain"]["rerank_score"]) == ("threshold", 0.49)
    assert dropped["explain"]["threshold"] == 0.5


def test_changing_only_top_k_changes_no_score_and_no_order(app: App, dataset: str) -> None:
    reranking = app.with_reranker(scoring(SCORES, most=2))
    every = reranking.retrieve(dataset, "refund policy", top_k=10, **RERANKED)["records"]
    assert len(every) == 2
    for top_k in (1, 2):
        found = reranking.retrieve(dataset, "refund policy", top_k=top_k, **RERANKED)
        assert found["records"] == every[:top_k]


@pytest.mark.parametrize(("most", "candidates"), [(2, 100), (100, 2)])
def test_only_the_first_go_to_the_model_and_the_rest_say_so(
    app: App, dataset: str, most: int, candidates: int
) -> None:
    rerankers = scoring(SCORES, most)
    found = app.with_reranker(rerankers, candidates=candidates).retrieve(
        dataset, "refund policy", explain=True, **RERANKED
    )
    assert shown(found) == [("annual", 0.9), ("twice", 0.2)]
    assert len(rerankers.reranker.asked[0][1]) == 2
    [dropped] = found["dropped"]
    assert dropped["reason"] == "not_reranked"
    assert dropped["explain"]["rerank_score"] is None
    assert dropped["explain"]["final_score"] == pytest.approx(0.14, abs=FLOAT32)


def test_what_is_hidden_by_now_is_not_shown_to_the_model_and_takes_no_place(
    in_memory: Callable[..., App],
) -> None:
    class Late(InMemoryChunks):
        """Deletes what it finds first, before anybody reads it."""

        def search_vector(self, *args: Any, **more: Any) -> Any:
            hits = super().search_vector(*args, **more)
            made.client.delete(f"/v1/documents/{doomed['id']}")
            return hits

    made = in_memory(Late())
    own = made.dataset()
    doomed = made.put(own, "gone", near("refund secret", 0.9))
    made.put(own, "there", near("refund policy", 0.5))
    rerankers = FakeRerankers(FakeReranker(most_passages=1))
    found = made.with_reranker(rerankers).retrieve(own, "refund", explain=True, **RERANKED)
    assert shown(found) == [("there", 1.0)]
    [(_, passages, _)] = rerankers.reranker.asked
    assert passages == ["refund policy"]
    assert [each["reason"] for each in found["dropped"]] == ["hidden"]


def test_what_is_hidden_while_the_model_thinks_is_not_returned(app: App) -> None:
    made = app.dataset()
    doomed = app.put(made, "gone", near("refund secret", 0.9))
    app.put(made, "there", near("refund policy", 0.5))

    def score(_: str, passage: str) -> float:
        if "secret" in passage:
            app.change(doomed["id"], enabled=False)
        return 0.5

    found = app.with_reranker(FakeRerankers(FakeReranker(score))).retrieve(
        made, "refund", explain=True, **RERANKED
    )
    assert shown(found) == [("there", 0.5)]
    assert [each["reason"] for each in found["dropped"]] == ["hidden"]


# ------------------------------------------------------------------- models that fail


def ask_cohere(url: str) -> Any:
    transport = Transport(4, failure=RerankerFailed, model="the reranking model")
    return CohereCompatibleReranker("m", transport, base_url=f"{url}/v1", find_key=lambda: None)


def ask_tei(url: str) -> Any:
    transport = Transport(4, failure=RerankerFailed, model="the reranking model")
    return TeiReranker("m", transport, base_url=url, find_key=lambda: None)


def ask_bedrock(url: str) -> Any:
    transport = Transport(4, failure=RerankerFailed, model="the reranking model")
    client = BedrockClient(SERVICE, transport, url)
    return BedrockReranker(MODELS[0], lambda: client)


SERVERS: dict[str, tuple[Callable[[], ModelServer], Callable[[str], Any]]] = {
    "cohere_compatible": (CohereServer, ask_cohere),
    "tei": (TeiServer, ask_tei),
    "bedrock": (BedrockRerankServer, ask_bedrock),
}


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest) -> Iterator[tuple[ModelServer, Any]]:
    """A server, and what makes its adapter."""
    make, ask = SERVERS[request.param]
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in AWS_ENVIRONMENT.items():
            patch.setenv(name, value)
        server = stack.enter_context(make().running())
        adapter = ask(server.url)
        yield server, lambda *_: adapter


def write(server: ModelServer, *scores: tuple[Any, Any]) -> Any:
    if isinstance(server, TeiServer):
        return [{"index": index, "score": score} for index, score in scores]
    key = "relevanceScore" if isinstance(server, BedrockRerankServer) else "relevance_score"
    return {"results": [{"index": index, key: score} for index, score in scores]}


def test_the_models_texts_never_replace_ours(app: App, dataset: str, served: Any) -> None:
    server, reranker_for = served
    found = app.with_reranker(reranker_for).retrieve(dataset, "annual plans", **RERANKED)
    assert shown(found)[0] == ("annual", 1.0)
    assert {each["content"] for each in found["records"]} == set(SCORES)
    assert len(server.requests) == 1


BROKEN: dict[str, Callable[[ModelServer], Reply]] = {
    "short answer": lambda server: Reply(write(server, (0, 0.9), (1, 0.1))),
    "repeated index": lambda server: Reply(write(server, (0, 0.9), (1, 0.1), (1, 0.5))),
    "index out of range": lambda server: Reply(write(server, (0, 0.9), (1, 0.1), (3, 0.5))),
    "NaN": lambda server: Reply(write(server, (0, 0.9), (1, 0.1), (2, float("nan")))),
    "no number": lambda server: Reply(write(server, (0, 0.9), (1, 0.1), (2, "high"))),
    "null": lambda server: Reply(write(server, (0, 0.9), (1, 0.1), (2, None))),
    "logits": lambda server: Reply(write(server, (0, 7.7), (1, -4.2), (2, 0.5))),
    "slow": lambda _: Reply({}, delay=30),
    "busy": lambda _: Reply({"message": "slow down"}, status=429),
    "out of order": lambda _: Reply({"message": "oops"}, status=500),
    "malformed": lambda _: Reply(b'{"results": [{"index": 0'),
    "other content": lambda _: Reply(b"<html></html>", headers={"Content-Type": "text/html"}),
    "hung up": lambda _: Reply(hang_up=True),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_h03_a_model_that_fails_leaves_the_weighted_score_and_is_named(
    app: App, dataset: str, served: Any, fault: str
) -> None:
    server, reranker_for = served
    reranking = app.with_reranker(reranker_for, timeout=1.5)
    broken = BROKEN[fault](server)
    server.script = [broken, broken]  # a connection that hung up is tried once more
    answer = reranking.ask(
        dataset, "refund policy", query_vector=[1, 0], explain=True, score_threshold=0.5, **RERANKED
    )
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert shown(found) == BY_WEIGHT[:2]
    [degraded] = found["degraded"]
    assert degraded["channel"] == "reranking_model"
    assert degraded["reason"]
    explained = found["records"][0]["explain"]
    assert explained["rerank_score"] is None
    assert explained["weights"] == {"vector": 0.7, "keyword": 0.3}
    assert [each["reason"] for each in found["dropped"]] == ["threshold"]
    server.script = [broken, broken]
    strict = reranking.ask(
        dataset, "refund policy", query_vector=[1, 0], on_channel_failure="error", **RERANKED
    )
    assert strict.status_code == 503
    assert "reranking_model: " in strict.json()["detail"]


def test_h03_an_answer_that_drips_in_is_left_in_time(app: App, dataset: str, served: Any) -> None:
    server, reranker_for = served
    server.script = [Reply(drips=True)]
    answer = app.with_reranker(reranker_for, timeout=0.3).ask(
        dataset, "refund policy", query_vector=[1, 0], **RERANKED
    )
    assert shown(answer.json()) == BY_WEIGHT
    [degraded] = answer.json()["degraded"]
    assert "did not answer within 0." in degraded["reason"]
    assert server.closed.acquire(timeout=20), "somebody still reads it"


@pytest.mark.parametrize(
    "scores", [[], [0.5], [0.5] * 4, [0.5, 0.5, float("nan")], [0.5, 0.5, -4.2], [0.5, 0.5, 1.5]]
)
def test_h03_no_adapter_loses_a_candidate_or_misplaces_one(
    app: App, dataset: str, scores: list[float]
) -> None:
    class Careless(FakeReranker):
        def rerank(self, *_: Any) -> Sequence[float]:
            return scores

    answer = app.with_reranker(FakeRerankers(Careless())).ask(
        dataset, "refund policy", query_vector=[1, 0], **RERANKED
    )
    assert shown(answer.json()) == BY_WEIGHT
    assert [each["channel"] for each in answer.json()["degraded"]] == ["reranking_model"]


@pytest.mark.parametrize("method", METHODS)
def test_where_it_fails_each_method_has_its_own_score(app: App, dataset: str, method: str) -> None:
    rerankers = FakeRerankers()
    rerankers.reranker.broken = "it sleeps"
    query: Json = {"query_vector": [1, 0], "search_method": method}
    answer = app.with_reranker(rerankers).ask(dataset, "refund policy", **query, **RERANKED)
    assert answer.json()["degraded"] == [{"channel": "reranking_model", "reason": "it sleeps"}]
    settings = {name: value for name, value in RERANKED["fusion"].items() if name != "method"}
    without = app.retrieve(dataset, "refund policy", **query, fusion=settings)
    assert shown(answer.json()) == shown(without)


def test_the_weights_of_the_request_stand_where_it_fails(app: App, dataset: str) -> None:
    rerankers = FakeRerankers()
    rerankers.reranker.broken = "it sleeps"
    fusion = {"method": "reranking_model", "weights": {"vector": 1, "keyword": 0}}
    answer = app.with_reranker(rerankers).ask(
        dataset, "refund policy", query_vector=[1, 0], fusion=fusion
    )
    assert [title for title, _ in shown(answer.json())] == ["annual", "twice", "shipping"]


def test_a_model_that_hangs_is_left_behind_inside_the_deadline(app: App, dataset: str) -> None:
    asleep = threading.Event()
    pool = Pool(2)
    hanging = FakeRerankers(FakeReranker(lambda *_: float(asleep.wait(60))))
    alone = app.with_search(app.search, outside=pool)
    try:
        answer = alone.with_reranker(hanging).ask(
            dataset, "refund policy", query_vector=[1, 0], deadline_ms=2_000, **RERANKED
        )
        assert shown(answer.json()) == BY_WEIGHT
        [degraded] = answer.json()["degraded"]
        assert degraded["reason"].startswith("the reranking model did not answer within")
    finally:
        asleep.set()
        pool.close()


def test_a_full_pool_degrades_and_does_not_wait(app: App, dataset: str) -> None:
    asleep = threading.Event()
    pool = Pool(2)
    held = [pool.start(asleep.wait) for _ in range(2)]
    try:
        answer = app.with_search(app.search, outside=pool).ask(
            dataset, "refund policy", query_vector=[1, 0], **RERANKED
        )
    finally:
        asleep.set()
        assert all(held)
        pool.close()
    assert shown(answer.json()) == BY_WEIGHT
    assert [each["reason"] for each in answer.json()["degraded"]] == ["every search thread is busy"]


def test_a_fault_of_ours_degrades_and_tells_nothing(
    app: App, dataset: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> float:
        raise ConfigurationError("WINNOW_SOMETHING is not set")

    answer = app.with_reranker(FakeRerankers(FakeReranker(fail))).ask(
        dataset, "refund policy", query_vector=[1, 0], **RERANKED
    )
    assert shown(answer.json()) == BY_WEIGHT
    assert "WINNOW_SOMETHING" not in answer.text
    assert "WINNOW_SOMETHING" in str([vars(each).get("stack") for each in caplog.records])


def test_a_channel_that_fails_beside_it_is_named_too(app: App, dataset: str) -> None:
    watched = Watched(app.search)

    def fail() -> None:
        raise IndexUnavailable

    watched.instead["search_vector"] = fail
    answer = (
        app.with_search(watched)
        .with_reranker(scoring(SCORES))
        .ask(dataset, "refund policy", query_vector=[1, 0], **RERANKED)
    )
    assert shown(answer.json()) == [("annual", 0.9), ("twice", 0.2)]
    assert [each["channel"] for each in answer.json()["degraded"]] == ["vector"]


# ------------------------------------------------------------------- external bases


@pytest.fixture(scope="module")
def outside(app: App, database: Engine) -> Iterator[tuple[App, ExternalServer]]:
    with ExternalServer().running() as server:
        assert isinstance(server, ExternalServer)
        made = build(
            database, app.index, app.search, app.content, threads=8, external_hosts=server.host
        )
        yield made, server
        made.retrieve_parts.searcher.pool.close()


def external(made: App, server: ExternalServer, *records: Any) -> str:
    server.bases["kb"] = list(records)
    base = {"endpoint": server.endpoint, "knowledge_id": "kb", "api_key": KEY}
    return made.make({"provider": "external", "external": base})


def test_external_hits_are_candidates_like_any(
    outside: tuple[App, ExternalServer], dataset: str
) -> None:
    made, server = outside
    base = external(made, server, record("from outside", 0.01), record("refund rules", 0.99))
    scores = SCORES | {"from outside": 0.95, "refund rules": 0.1}
    server.requests.clear()
    found = made.with_reranker(scoring(scores)).retrieve(
        [dataset, base], "refund", top_k=3, explain=True, score_threshold=0.15, **RERANKED
    )
    assert shown(found) == [("from outside", 0.95), *BY_MODEL[:2]]
    first = found["records"][0]
    assert first["dataset_id"] == base
    assert first["explain"]["rerank_score"] == 0.95
    assert first["explain"]["channels"] == {f"external:{base}": {"rank": 1, "score": 0.01}}
    reasons = {each["explain"]["final_score"]: each["reason"] for each in found["dropped"]}
    assert reasons == {0.1: "threshold", 0.2: "top_k"}
    # Whatever top_k and threshold are, for both concern the model's scores.
    [request] = server.requests
    assert request.body["retrieval_setting"] == {"top_k": 100, "score_threshold": 0.0}


def test_external_hits_alone_are_reranked_and_keep_their_scores_where_it_fails(
    outside: tuple[App, ExternalServer],
) -> None:
    made, server = outside
    base = external(made, server, record("low", 0.2), record("high", 0.8))
    rerankers = scoring({"low": 0.9, "high": 0.4})
    assert shown(made.with_reranker(rerankers).retrieve(base, "q", **RERANKED)) == [
        ("low", 0.9), ("high", 0.4),
    ]  # fmt: skip
    rerankers.reranker.broken = "it sleeps"
    answer = made.with_reranker(rerankers).ask(base, "q", score_threshold=0.5, **RERANKED)
    assert shown(answer.json()) == [("high", 0.8)]


# ------------------------------------------------------------------- which model


def test_a_request_and_a_dataset_name_the_model(app: App, dataset: str) -> None:
    rerankers = scoring(SCORES)
    reranking = app.with_reranker(rerankers)
    named = {"provider": "tei", "model": "BAAI/bge-reranker-v2-m3"}
    fusion = {"method": "reranking_model", "reranking_model": named}
    reranking.retrieve(dataset, "refund policy", fusion=fusion)
    made = app.dataset(retrieval={"fusion": fusion, "search_method": "semantic_search"})
    app.put(made, "twice", near("refund policy refund policy", 0.40))
    assert shown(reranking.retrieve(made, "refund policy")) == [("twice", 0.2)]
    assert rerankers.named == [("tei", "BAAI/bge-reranker-v2-m3")] * 2
    # What the request says of fusion replaces it.
    found = reranking.retrieve(made, "refund policy", fusion={})
    assert shown(found) == [("twice", 0.4)]
    assert len(rerankers.named) == 2


def test_by_difys_contract_the_datasets_default_reranks(app: App) -> None:
    made = app.dataset(retrieval={"fusion": {"method": "reranking_model", "reranking_model": {
        "provider": "tei", "model": "m"}}, "search_method": "keyword_search"})  # fmt: skip
    app.put(made, "twice", near("refund policy refund policy", 0.40))
    answer = app.with_reranker(scoring(SCORES)).client.post(
        "/retrieval",
        json={
            "knowledge_id": made,
            "query": "refund policy",
            "retrieval_setting": {"top_k": 2, "score_threshold": 0.0},
        },
    )
    assert [each["score"] for each in answer.json()["records"]] == [0.2]


@pytest.mark.parametrize(
    ("fusion", "pointer"),
    [
        ({"method": "reranking_model", "reranking_model": "tei"}, "/fusion/reranking_model"),
        (
            {"method": "reranking_model", "reranking_model": {"provider": "tei"}},
            "/fusion/reranking_model/model",
        ),
        (
            {"method": "reranking_model", "reranking_model": {"provider": "", "model": "m"}},
            "/fusion/reranking_model/provider",
        ),
        (
            {
                "method": "reranking_model",
                "reranking_model": {"provider": "tei", "model": "m", "top_n": 3},
            },
            "/fusion/reranking_model/top_n",
        ),
        ({"reranking_model": {"provider": "tei", "model": "m"}}, "/fusion"),
        ({"method": "rrf", "reranking_model": {"provider": "tei", "model": "m"}}, "/fusion"),
        ({"method": "rerank"}, "/fusion/method"),
    ],
)
def test_what_means_nothing_is_refused_at_its_place(
    app: App, dataset: str, fusion: Json, pointer: str
) -> None:
    refused = app.ask(dataset, "q", query_vector=[1, 0], fusion=fusion)
    assert refused.status_code == 400
    assert [each["pointer"] for each in refused.json()["errors"]] == [pointer]
    refused = app.client.post(
        "/v1/datasets",
        json={"name": "x", "indexing_technique": "economy", "retrieval": {"fusion": fusion}},
    )
    assert refused.status_code == 400
    assert [each["pointer"] for each in refused.json()["errors"]] == [f"/retrieval{pointer}"]


@pytest.mark.parametrize(
    ("named", "pointer"),
    [
        (None, ""),
        ({"provider": "elsewhere", "model": "m"}, "/provider"),
        ({"provider": "bedrock", "model": "m"}, "/model"),
        ({"provider": "cohere_compatible", "model": "m"}, "/provider"),
        ({"provider": "local", "model": MODEL}, "/provider"),
    ],
)
def test_a_model_that_is_not_there_is_refused_by_queries_and_as_a_default(
    app: App, dataset: str, named: Json | None, pointer: str
) -> None:
    ours = make_settings()
    real = app.with_reranker(lambda provider, model: make_reranker(provider, model, ours))
    fusion = {"method": "reranking_model"} | ({"reranking_model": named} if named else {})
    for query in ("refund", "xylophone"):  # with candidates and without
        refused = real.ask(
            dataset, query, query_vector=[1, 0], search_method="full_text_search", fusion=fusion
        )
        assert refused.status_code == 400
        [problem] = refused.json()["errors"]
        assert problem["pointer"] == f"/fusion/reranking_model{pointer}"
    before = app.scalar("SELECT count(*) FROM datasets")
    body = {"name": "x", "indexing_technique": "economy", "retrieval": {"fusion": fusion}}
    refused = app.client.post("/v1/datasets", json=body)
    assert refused.status_code == 400
    [problem] = refused.json()["errors"]
    assert problem["pointer"] == f"/retrieval/fusion/reranking_model{pointer}"
    assert app.scalar("SELECT count(*) FROM datasets") == before
    patched = app.client.patch(f"/v1/datasets/{dataset}", json={"retrieval": {"fusion": fusion}})
    assert patched.status_code == 400


# ------------------------------------------------------------------- the local model


@pytest.fixture(scope="module")
def local() -> LocalReranker:
    return LocalReranker(model_files(MODEL).model.parent)


def test_the_local_model_puts_what_answers_first(app: App, local: LocalReranker) -> None:
    made = app.dataset()
    app.put(made, "crowd", near("Berlin is famous for how many people visit it.", 0.9))
    app.put(made, "answer", near("Berlin has 3,520,031 registered inhabitants.", 0.1))
    query = "How many people live in Berlin?"
    assert app.titles(made, query) == ["crowd", "answer"]
    reranking = app.with_reranker(lambda *_: local, timeout=60)
    found = reranking.retrieve(made, query, deadline_ms=60_000, **RERANKED)
    assert [each["title"] for each in found["records"]] == ["answer", "crowd"]
    assert found["records"][0]["score"] > 0.9


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("退款政策：三十天内可以退款。", "退款政策"),
        ("退款政策：三十天内可以退款。", "refund policy"),
    ],
)
def test_the_local_model_gives_no_score_to_chinese_and_says_why(
    app: App, local: LocalReranker, text: str, query: str
) -> None:
    made = app.dataset()
    app.put(made, "a", near(text, 0.5))
    reranking = app.with_reranker(lambda *_: local, timeout=60)
    answer = reranking.ask(
        made, query, query_vector=[1, 0], explain=True, deadline_ms=60_000, **RERANKED
    )
    assert answer.status_code == 200
    [degraded] = answer.json()["degraded"]
    assert degraded["channel"] == "reranking_model"
    assert "reads English alone" in degraded["reason"]
    assert answer.json()["records"][0]["explain"]["rerank_score"] is None
