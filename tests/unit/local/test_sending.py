from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import pytest

from local import sending
from local.bars import Lines
from local.client import ApiRefused, Client
from local.sending import Ending, Outcome, send, split


class Api(Client):
    """Documents that are done after having been asked for a few times."""

    def __init__(self, known: Mapping[str, int], rounds: int = 3) -> None:
        super().__init__("http://127.0.0.1:9", "k")
        self.known = dict(known)
        self.rounds = rounds
        self.asked: dict[str, int] = {}
        self.batches: list[Sequence[Mapping[str, Any]]] = []

    def list_documents(
        self, dataset_id: str, status: str | None = None
    ) -> Iterator[Mapping[str, Any]]:
        assert (dataset_id, status) == ("d", None)
        for external_id, version in self.known.items():
            yield {"external_id": external_id, "version": version}

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        assert path == "/v1/datasets/d/documents/batch"
        if any(each["name"] == "refuse all" for each in body["documents"]):
            raise ApiRefused("Too large: far")
        self.batches.append(body["documents"])
        return {"documents": [self._take(each) for each in body["documents"]]}

    def _take(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        if sent["name"] == "bad":
            return {"status": 400, "detail": "/documents/0/name: bad"}
        if sent["name"] == "same":
            return self._show(sent["external_id"], self.known[sent["external_id"]])
        version = self.known.get(sent["external_id"], 0) + 1
        return self._show(sent["external_id"], version) | {"indexing_status": "waiting"}

    def get(self, path: str, **_: object) -> Any:
        external_id = path.removeprefix("/v1/documents/id-")
        self.asked[external_id] = self.asked.get(external_id, 0) + 1
        version = self.known.get(external_id, 0) + 1
        if external_id == "deleted":
            raise ApiRefused("Not found: there is no such document", HTTPStatus.NOT_FOUND)
        if external_id == "outage" and self.asked[external_id] == 1:
            raise ApiRefused("Not available now", HTTPStatus.SERVICE_UNAVAILABLE)
        if external_id == "poison":
            return self._show(external_id, version) | {"indexing_status": "error", "error": "why"}
        if self.asked[external_id] < self.rounds:
            return self._show(external_id, version) | {"live_version": None}
        return self._show(external_id, version)

    def _show(self, external_id: str, version: int) -> dict[str, Any]:
        return {
            "id": f"id-{external_id}",
            "external_id": external_id,
            "version": version,
            "live_version": version,
            "indexing_status": "completed",
            "error": None,
        }


def body(external_id: str, name: str = "name") -> dict[str, Any]:
    return {"external_id": external_id, "name": name, "text": "text"}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PAUSE_SECONDS", 0)


def outcomes(api: Api, *bodies: Mapping[str, Any]) -> set[Outcome]:
    with Lines() as lines:
        return set(send(api, "d", bodies, "Task", lines))


def test_each_document_ends_in_its_own_way() -> None:
    found = outcomes(
        Api({"b": 4, "c": 2}),
        body("a"),
        body("b"),
        body("c", "same"),
        body("bad", "bad"),
        body("poison"),
    )
    assert found == {
        Outcome("a", Ending.NEW, "id-a"),
        Outcome("b", Ending.UPDATED, "id-b"),
        Outcome("c", Ending.UNCHANGED, "id-c"),
        Outcome("bad", Ending.FAILED, None, "/documents/0/name: bad"),
        Outcome("poison", Ending.FAILED, "id-poison", "why"),
    }


def test_what_is_unchanged_is_not_asked_after() -> None:
    api = Api({"c": 2})
    outcomes(api, body("c", "same"))
    assert api.asked == {}


def test_one_that_somebody_deletes_meanwhile_fails_alone() -> None:
    found = outcomes(Api({}), body("a"), body("deleted"), body("b"))
    assert found == {
        Outcome("a", Ending.NEW, "id-a"),
        Outcome("b", Ending.NEW, "id-b"),
        Outcome("deleted", Ending.FAILED, "id-deleted", "Not found: there is no such document"),
    }


def test_an_outage_is_waited_for() -> None:
    assert outcomes(Api({}), body("outage")) == {Outcome("outage", Ending.NEW, "id-outage")}


def test_a_batch_that_is_refused_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "BATCH", 1)
    found = outcomes(Api({}), body("a"), body("b", "refuse all"), body("c"))
    assert {(each.external_id, each.reason) for each in found} == {
        ("a", ""),
        ("b", "Too large: far"),
        ("c", ""),
    }


def test_many_documents_all_come_to_an_end() -> None:
    found = outcomes(Api({}), *(body(str(n)) for n in range(120)))
    assert {(each.external_id, each.ending) for each in found} == {
        (str(n), Ending.NEW) for n in range(120)
    }


def test_batches_are_bounded_by_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(batch) for batch in split([body("a")] * 120)] == [50, 50, 20]
    monkeypatch.setattr(sending, "BATCH_BYTES", 1000)
    large, small = body("a") | {"text": "文" * 400}, body("b")
    assert list(split([small, small, large, large, small])) == [
        [small, small],
        [large],
        [large],
        [small],
    ]
    assert list(split([])) == []
