"""Documents in error, tried again by way of an API that answers as it is told."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local.client import ApiRefused, Client
from local.commands import redrive
from local.commands.redrive import redrive_documents


class Api(Client):
    """Two datasets and an external one; documents that end as their names say."""

    def __init__(self) -> None:
        self.retried: list[str] = []
        self.asked: dict[str, int] = {}

    def get(self, path: str, **_: object) -> Any:
        if path == "/v1/datasets":
            kinds = {"books": "internal", "maps": "internal", "else": "external"}
            return {
                "datasets": [{"id": n, "name": n, "provider": kind} for n, kind in kinds.items()]
            }
        name = path.removeprefix("/v1/documents/")
        self.asked[name] = self.asked.get(name, 0) + 1
        if name == "gone":
            raise ApiRefused("Not found: there is no document")
        if self.asked[name] < 3:
            return {"indexing_status": "parsing", "error": None}
        if name == "bad":
            return {"indexing_status": "error", "error": "it is\nbroken"}
        return {"indexing_status": "completed", "error": None}

    def list_documents(
        self, dataset_id: str, status: str | None = None
    ) -> Iterator[Mapping[str, Any]]:
        assert status == "error"
        names = {"books": ["good", "bad", "empty"], "maps": ["gone"]}[dataset_id]
        yield from ({"id": name, "name": f"{name}.md"} for name in names)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        assert body == {}
        name = path.removeprefix("/v1/documents/").removesuffix("/retry")
        if name == "empty":
            raise ApiRefused("Conflict: nothing is kept of what was sent: send it again")
        self.retried.append(name)
        return {}

    def close(self) -> None:
        pass


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    api = Api()

    @contextmanager
    def open_session(folder: Path | None) -> Iterator[Client]:
        assert folder is None
        yield api

    monkeypatch.setattr(redrive, "open_session", open_session)
    monkeypatch.setattr(redrive, "PAUSE_SECONDS", 0.001)
    return api


def test_every_document_in_error_is_tried_again_and_each_failure_has_its_reason(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not redrive_documents(None, None)
    assert api.retried == ["good", "bad", "gone"]
    assert capsys.readouterr().err.splitlines()[-4:] == [
        "empty.md: Conflict: nothing is kept of what was sent: send it again",
        "bad.md: it is broken",
        "gone.md: Not found: there is no document",
        "4 documents were tried again, 3 failed.",
    ]


def test_one_dataset_can_be_named(api: Api) -> None:
    assert not redrive_documents(None, "maps")
    assert api.retried == ["gone"]
