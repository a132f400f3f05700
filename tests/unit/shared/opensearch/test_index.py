"""What the adapter makes of an engine's answers, whatever they are."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from shared.errors import ConfigurationError, DocumentRefused, IndexUnavailable
from shared.model import NO_VECTORS
from shared.opensearch.client import EngineRefused, SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.start import refuse_serverless
from tests.fakes.build import chunk

type Answer = Mapping[str, Any] | Exception


class ScriptedEngine(SearchEngine):
    """Gives the next of its answers to each bulk, and has every alias."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[bytes] = []

    def request(
        self,
        method: str,
        path: str,
        *,
        body: str | bytes | None = None,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Mapping[str, Any]:
        del timeout
        self.asked.append((method, path.rsplit("/", 1)[-1]))
        if not path.endswith("/_bulk"):
            return {}
        assert params == {"require_alias": "true"}
        self.bodies.append(body if isinstance(body, bytes) else b"")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def items(*statuses: int, kind: str = "some_exception") -> Mapping[str, Any]:
    def item(status: int) -> Mapping[str, Any]:
        error = {} if status < 300 else {"error": {"type": kind, "reason": "why"}}
        return {"index": {"status": status, **error}}

    return {"items": [item(status) for status in statuses]}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def write(engine: ScriptedEngine, *chunk_ids: str) -> None:
    OpenSearchChunkIndex(engine, "p").upsert(NO_VECTORS, [chunk(name) for name in chunk_ids])


def test_only_what_the_engine_was_too_busy_for_is_sent_again(pauses: list[float]) -> None:
    engine = ScriptedEngine(items(201, 429, 503), items(201, 429), items(409))
    write(engine, "a", "b", "c")
    sent = [
        [name for name in "abc" if f'"_id":"{name}"'.encode() in body] for body in engine.bodies
    ]
    assert sent == [["a", "b", "c"], ["b", "c"], ["c"]]
    assert pauses[0] == 0 < pauses[1]


@pytest.mark.parametrize("status", [429, 503])
def test_a_whole_request_that_was_too_much_is_sent_again(pauses: list[float], status: int) -> None:
    engine = ScriptedEngine(EngineRefused(status, "rejected_execution_exception"), items(201))
    write(engine, "a")
    assert len(engine.bodies) == len(pauses) == 2


def test_an_engine_that_stays_busy_is_given_up(pauses: list[float]) -> None:
    engine = ScriptedEngine(*[items(429)] * 9)
    with pytest.raises(IndexUnavailable):
        write(engine, "a")
    assert len(engine.bodies) == len(pauses) == 5
    assert sum(pauses) < 5


def test_writers_that_were_refused_together_do_not_come_back_together(pauses: list[float]) -> None:
    for _ in range(8):
        write(ScriptedEngine(items(429), items(201)), "a")
    seconds = [pause for pause in pauses if pause > 0]
    assert len(set(seconds)) == 8
    assert all(0.1 <= pause <= 0.3 for pause in seconds)


@pytest.mark.usefixtures("pauses")
def test_a_request_that_is_too_large_goes_in_halves() -> None:
    too_large = EngineRefused(413, "N/A")
    engine = ScriptedEngine(too_large, too_large, items(201), items(201), items(201, 201))
    write(engine, "a", "b", "c", "d")
    assert [body.count(b'"index"') for body in engine.bodies] == [4, 2, 1, 1, 2]


@pytest.mark.usefixtures("pauses")
def test_a_chunk_that_is_too_large_alone_is_refused_and_the_others_are_written() -> None:
    too_large = EngineRefused(413, "N/A")
    engine = ScriptedEngine(too_large, items(201), too_large)
    with pytest.raises(DocumentRefused, match="chunk b: it is too large for the search index"):
        write(engine, "a", "b")


@pytest.mark.usefixtures("pauses")
def test_j06_a_missing_alias_is_made_once() -> None:
    missing = items(404, kind="index_not_found_exception")
    engine = ScriptedEngine(missing, items(201))
    write(engine, "a")
    assert [path for method, path in engine.asked if method == "GET"] != []
    with pytest.raises(IndexUnavailable):
        write(ScriptedEngine(missing, missing, items(201)), "a")


@pytest.mark.usefixtures("pauses")
def test_i12_one_chunk_that_fails_fails_the_write() -> None:
    with pytest.raises(IndexUnavailable, match="io_exception"):
        write(ScriptedEngine(items(201, 500, kind="io_exception")), "a", "b")
    with pytest.raises(IndexUnavailable, match="502"):
        write(ScriptedEngine(EngineRefused(502, "N/A")), "a")
    with pytest.raises(IndexUnavailable):
        write(ScriptedEngine(items(201)), "a", "b")


@pytest.mark.usefixtures("pauses")
def test_the_first_reason_is_given_for_a_chunk_that_is_refused() -> None:
    with pytest.raises(DocumentRefused, match="chunk b: mapper_parsing_exception: why"):
        write(ScriptedEngine(items(201, 400, kind="mapper_parsing_exception")), "a", "b")


@pytest.mark.parametrize(
    "answer",
    [
        EngineRefused(400, "illegal_argument_exception"),
        items(400, kind="illegal_argument_exception"),
    ],
    ids=["whole", "item"],
)
def test_j01_an_engine_that_refuses_our_ids_is_refused_at_start(answer: Answer) -> None:
    engine = ScriptedEngine(answer)
    with pytest.raises(ConfigurationError, match="Serverless vector collections"):
        refuse_serverless(engine, "p")
    assert engine.asked == [("POST", "_bulk")]


def test_j01_an_engine_that_takes_them_misses_only_the_alias() -> None:
    refuse_serverless(ScriptedEngine(items(404, kind="index_not_found_exception")), "p")


def test_nothing_to_write_sends_nothing() -> None:
    engine = ScriptedEngine()
    adapter = OpenSearchChunkIndex(engine, "p")
    adapter.upsert(NO_VECTORS, [])
    adapter.delete(NO_VECTORS, [], 1)
    assert engine.asked == []
