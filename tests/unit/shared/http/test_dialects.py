"""Errors on a contract's paths are told in its dialect, wherever they come from."""

from fastapi import APIRouter
from fastapi.testclient import TestClient

from shared.errors import NotFound, Unavailable
from shared.http.app import make_app
from shared.http.dialects import Dialect, Router
from shared.model import JsonObject


def shout(error: Exception, problem: JsonObject) -> tuple[int, JsonObject]:
    return 418, {"loud": problem["detail"].upper(), "kind": type(error).__name__}


def make_client() -> TestClient:
    loud = Router(dialect=Dialect(lambda path: path.startswith("/loud"), shout, {"type": "array"}))
    quiet = APIRouter(tags=["quiet"])

    @loud.post("/loud")
    def post_loud(body: dict[str, int]) -> None:
        raise {1: NotFound, 2: Unavailable, 3: RuntimeError}[body["n"]]

    @quiet.post("/quiet")
    def post_quiet() -> None:
        raise NotFound

    app = make_app(quiet, loud, most_bytes=100)
    return TestClient(app, raise_server_exceptions=False)


def test_every_error_on_its_paths_is_translated() -> None:
    client = make_client()
    answers = {
        "NotFound": client.post("/loud", json={"n": 1}),
        "Unavailable": client.post("/loud", json={"n": 2}),
        "RuntimeError": client.post("/loud", json={"n": 3}),
        "InvalidRequest": client.post("/loud", json={"n": "x"}),
        "TooLarge": client.post("/loud", content=b"x" * 101),
        "HTTPException": client.get("/loud"),
    }
    for kind, answer in answers.items():
        assert answer.status_code == 418
        assert answer.json()["kind"] == kind
        assert answer.json()["loud"].isupper()
        assert answer.headers["content-type"] == "application/json"
    assert client.post("/loud", content=b'{"n": "\\u0000"}').json()["kind"] == "InvalidRequest"
    assert client.post("/louder").json()["kind"] == "HTTPException"
    assert answers["HTTPException"].headers["allow"] == "POST"
    assert "retry-after" not in answers["Unavailable"].headers  # its status is no 503 here


def test_other_paths_keep_their_problems() -> None:
    client = make_client()
    for path in ("/quiet", "/nothing"):
        answer = client.post(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


def test_its_errors_are_described_in_its_own_form() -> None:
    paths = make_client().get("/openapi.json").json()["paths"]
    answers = paths["/loud"]["post"]["responses"]
    assert set(answers) == {"200", "default"}
    assert answers["default"]["content"] == {"application/json": {"schema": {"type": "array"}}}
    assert "default" not in paths["/quiet"]["post"]["responses"]
