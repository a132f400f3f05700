"""What a failed request leaves in the logs: enough to find the fault, nothing that was sent."""

import json
import logging

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from shared.errors import IndexUnavailable
from shared.http.app import make_app
from shared.postgres.engine import read
from shared.telemetry import logger

SECRET = "what-somebody-sent"
STATEMENTS = {
    "22P02": "SELECT CAST(:sent AS INTEGER)",
    "42P01": "SELECT :sent FROM nowhere",
}


@pytest.fixture
def client(database: Engine) -> TestClient:
    router = APIRouter()

    @router.get("/fail/{state}")
    def fail(state: str) -> None:
        with read(database) as connection:
            connection.execute(text(STATEMENTS[state]), {"sent": SECRET})

    @router.get("/lose/{state}")
    def lose(state: str) -> None:
        try:
            fail(state)
        except Exception as error:
            raise IndexUnavailable from error

    # What an app raises again reaches the log of the server that runs it.
    return TestClient(make_app(router, most_bytes=1_000), raise_server_exceptions=True)


@pytest.mark.parametrize("state", STATEMENTS)
@pytest.mark.parametrize(("path", "status"), [("fail", 500), ("lose", 503)])
def test_a_failed_statement_is_logged_without_what_was_sent(
    client: TestClient, caplog: pytest.LogCaptureFixture, path: str, status: int, state: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = client.get(f"/{path}/{state}")
    assert answer.status_code == status
    [record] = [each for each in caplog.records if each.levelno >= logging.ERROR]
    line = logger.registered_formatter.format(record)
    logged = json.loads(line)
    assert logged["location"].startswith("_answer:")
    assert logged["sqlstate"] == state
    assert logged["error"] == ("ProgrammingError" if path == "fail" else "IndexUnavailable")
    assert "in fail" in logged["stack"]
    assert all(SECRET not in each for each in (line, caplog.text, answer.text))
