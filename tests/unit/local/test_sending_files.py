import json
import uuid
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from local import sending, sending_files
from local.bars import Lines
from local.client import ApiRefused, ApiSilent, Client
from local.files import LocalFile, SourceFile, find_files, read_file
from local.sending import Ending, Outcome
from local.sending_files import send_files
from shared.files.sidecar import SIDECAR
from shared.postgres.intake import name_document

DATASET = str(uuid.uuid4())
PATH = f"/v1/datasets/{DATASET}/documents"


class Api(Client):
    """Documents in a dict, done when they are first asked for.

    Attributes:
        sent: the names of what came, in order.
        put_there: the bytes of uploads by their URLs.
        dies_after: so many documents are taken, and then nothing answers.
        most: bytes of the largest upload that is offered.
    """

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", "k")
        self.kept: dict[str, dict[str, Any]] = {}
        self.sent: list[str] = []
        self.put_there: dict[str, bytes] = {}
        self.dies_after: int | None = None
        self.most = 1_000_000

    def get(self, path: str, **_: object) -> Any:
        id_ = path.removeprefix("/v1/documents/")
        if id_ not in self.kept:
            raise ApiRefused("Not found", 404)
        shown = self.kept[id_]
        if shown["indexing_status"] == "waiting":
            shown |= {"indexing_status": "completed", "live_version": shown["version"]}
        return shown

    def post_form(
        self, path: str, fields: Mapping[str, str], name: str, data: bytes, media_type: str
    ) -> Any:
        assert (path, name) == (PATH, fields["name"])
        return self._take(fields, json.loads(fields["metadata"]), data, media_type)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        if path == f"{PATH}/uploads":
            if body["size"] > self.most:
                raise ApiRefused(f"Too large: /size: {body['size']} bytes", 413)
            return {"upload_id": f"{len(self.put_there)}", "url": f"url {len(self.put_there)}"}
        assert path == PATH
        data = self.put_there[f"url {body['upload_id']}"]
        return self._take(body, body["metadata"], data, "text/plain")

    def put(self, url: str, data: bytes) -> None:
        self.put_there[url] = data

    def _take(
        self, fields: Mapping[str, str], metadata: Any, data: bytes, media_type: str
    ) -> dict[str, Any]:
        if self.dies_after == len(self.sent):
            raise ApiSilent("nothing answers")
        self.sent.append(fields["external_id"])
        if data == b"refused":
            raise ApiRefused("Your request is wrong: so it is")
        id_ = name_document(DATASET, fields["external_id"])
        before = self.kept.get(id_, {"version": 0, "live_version": None})
        self.kept[id_] = {
            "id": id_,
            "external_id": fields["external_id"],
            "name": fields["name"],
            "source": None,
            "version": before["version"] + 1,
            "live_version": before["live_version"],
            "indexing_status": "error" if data == b"broken" else "waiting",
            "error": "The file is damaged." if data == b"broken" else None,
            "metadata": metadata,
            "media_type": media_type,
            "content_hash": sha256(data).hexdigest(),
        }
        return dict(self.kept[id_])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PAUSE_SECONDS", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"text of {name}")
    yield tmp_path


def send(api: Api, folder: Path) -> dict[str, Outcome]:
    with Lines() as lines:
        outcomes = send_files(api, DATASET, find_files([folder]).files, "Task", lines)
    return {outcome.external_id: outcome for outcome in outcomes}


def endings(outcomes: Mapping[str, Outcome]) -> dict[str, Ending]:
    return {name.removesuffix(".txt"): outcome.ending for name, outcome in outcomes.items()}


def test_what_is_there_as_it_is_is_not_sent_again(folder: Path) -> None:
    api = Api()
    assert set(endings(send(api, folder)).values()) == {Ending.NEW}
    (folder / "b.txt").write_text("another text")
    (folder / f"c.txt{SIDECAR}").write_text('{"metadataAttributes": {"lang": "en"}}')
    api.sent.clear()
    assert endings(send(api, folder)) == {
        "a": Ending.UNCHANGED,
        "b": Ending.UPDATED,
        "c": Ending.UPDATED,
    }
    assert api.sent == ["b.txt", "c.txt"]


def test_a_run_that_was_stopped_goes_on_where_it_was(folder: Path) -> None:
    api = Api()
    api.dies_after = 2
    with pytest.raises(ApiSilent):
        send(api, folder)
    assert api.sent == ["a.txt", "b.txt"]
    api.dies_after = None
    outcomes = send(api, folder)
    assert outcomes["c.txt"].ending is Ending.NEW
    assert Ending.FAILED not in endings(outcomes).values()
    assert api.sent.count("a.txt") == 1
    assert api.sent.count("c.txt") == 1


def test_a_document_in_error_is_sent_again(folder: Path) -> None:
    api = Api()
    (folder / "a.txt").write_text("broken")
    for _ in range(2):
        assert send(api, folder)["a.txt"].ending is Ending.FAILED
    assert api.sent.count("a.txt") == 2


def test_each_failure_is_told_when_it_comes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.txt").write_text("broken")
    (folder / "b.txt").write_text("refused")
    (folder / "c.md").write_text("text")
    (folder / f"c.md{SIDECAR}").write_text("{")
    outcomes = send(Api(), folder)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Task ..."
    assert said[-1].startswith("Task: done")
    assert said[1:-1] == [
        "a.txt: The file is damaged.",
        "b.txt: Your request is wrong: so it is",
        next(line for line in said if line.startswith(f"c.md: c.md{SIDECAR}: ")),
    ]
    assert outcomes["c.txt"].ending is Ending.NEW


def test_a_large_file_goes_by_an_upload(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_files, "MOST_IN_FORM", 10)
    api = Api()
    (folder / "b.txt").write_text("the text of b")
    (folder / "c.txt").write_text("the text of c")
    (folder / f"b.txt{SIDECAR}").write_text('{"metadataAttributes": {"lang": "en"}}')
    outcomes = send(api, folder)
    assert set(endings(outcomes).values()) == {Ending.NEW}
    assert list(api.put_there.values()) == [b"the text of b", b"the text of c"]
    assert api.kept[name_document(DATASET, "b.txt")]["metadata"] == {"lang": "en"}


def test_a_file_that_is_too_large_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    with (folder / "b.txt").open("wb") as file:
        file.truncate(10_000_000)
    read = []

    def note(file: SourceFile) -> LocalFile:
        read.append(file.external_id)
        return read_file(file)

    monkeypatch.setattr(sending_files, "read_file", note)
    outcomes = send(api, folder)
    assert outcomes["b.txt"] == Outcome(
        "b.txt", Ending.FAILED, None, "Too large: /size: 10000000 bytes"
    )
    assert read == ["a.txt", "c.txt"]
    assert Ending.NEW is outcomes["a.txt"].ending is outcomes["c.txt"].ending
