from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from sqlalchemy import event

from shared.clients import connect_database, connect_search, find_bootstrap_key
from shared.errors import ConfigurationError
from shared.settings import Settings

NEEDED: dict[str, Any] = {
    "database_url": "postgresql+pg8000://winnow:stale@127.0.0.1:6543/d",
    "opensearch_url": "http://127.0.0.1:9200",
    "content_url": "file:///nowhere",
}
KEY = "k" * 32


def read(**more: Any) -> Settings:
    return Settings(**(NEEDED | more))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What AWS was asked for."""
    calls: list[tuple[str, dict[str, Any]]] = []

    def generate(**arguments: Any) -> str:
        calls.append(("rds", arguments))
        return f"token {len(calls)}"

    def get_secret(**arguments: Any) -> dict[str, str]:
        calls.append(("secretsmanager", arguments))
        return {"SecretString": f"{KEY}\n"}  # as a file that it was put from ends

    client = SimpleNamespace(generate_db_auth_token=generate, get_secret_value=get_secret)
    monkeypatch.setattr(boto3, "client", lambda _service, **_: client)
    return calls


def test_the_bootstrap_key_is_the_settings_own(asked: list[Any]) -> None:
    settings = read(bootstrap_key=KEY, bootstrap_key_secret="arn")
    assert find_bootstrap_key(settings) == KEY
    assert asked == []
    assert KEY not in repr(settings)


def test_the_bootstrap_key_comes_from_secrets_manager(asked: list[Any]) -> None:
    assert find_bootstrap_key(read(bootstrap_key_secret="arn")) == KEY
    assert asked == [("secretsmanager", {"SecretId": "arn"})]


@pytest.mark.parametrize("kept", ["hunter2", "hunter2" * 5 + "\n", "hunter2 " * 5, ""])
def test_a_secret_that_no_header_could_bring_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    monkeypatch.setattr("shared.clients.read_secret", lambda _arn: kept)
    with pytest.raises(ConfigurationError, match="WINNOW_BOOTSTRAP_KEY_SECRET must be") as refused:
        find_bootstrap_key(read(bootstrap_key_secret="arn"))
    assert "hunter2" not in str(refused.value)


def test_there_may_be_no_bootstrap_key(asked: list[Any]) -> None:
    assert find_bootstrap_key(read()) is None
    assert asked == []


@pytest.mark.parametrize(("iam", "expected"), [(True, "token 1"), (False, "stale")])
def test_with_iam_a_connection_is_made_with_a_new_token(
    asked: list[Any], iam: bool, expected: str
) -> None:
    engine = connect_database(read(database_iam=iam))
    used: list[str] = []

    def stop(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> Any:
        used.append(parameters["password"])
        raise ConnectionRefusedError

    event.listen(engine, "do_connect", stop)
    with pytest.raises(ConnectionRefusedError):
        engine.connect()
    assert used == [expected]
    where = {"DBHostname": "127.0.0.1", "Port": 6543, "DBUsername": "winnow"}
    assert asked == ([("rds", where)] if iam else [])


@pytest.mark.parametrize(
    ("setting", "more"),
    [
        ("WINNOW_DATABASE_URL", {}),
        ("WINNOW_OPENSEARCH_URL", {"opensearch_url": "http://u:hunter2@127.0.0.1:9200"}),
        ("WINNOW_OPENSEARCH_URL", {"opensearch_url": "http://[::1]:9200"}),
    ],
)
def test_o17_in_a_container_a_server_said_to_be_in_it_is_named_with_its_setting(
    monkeypatch: pytest.MonkeyPatch, setting: str, more: dict[str, str]
) -> None:
    connect: Any = connect_search if more else connect_database
    connect(read(**more))  # elsewhere it is fine
    monkeypatch.setenv("AWS_SAM_LOCAL", "true")
    with pytest.raises(ConfigurationError, match=rf"{setting}.*host\.docker\.internal") as raised:
        connect(read(**more))
    assert "hunter2" not in str(raised.value)


def test_o17_the_machine_of_a_container_is_reached_as_one_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SAM_LOCAL", "true")
    url = "postgresql+pg8000://winnow:x@host.docker.internal:5432/d"
    engine = connect_database(read(database_url=url))
    seen: list[dict[str, Any]] = []

    def look(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
        seen.append(dict(parameters))
        raise RuntimeError("far enough")

    event.listen(engine, "do_connect", look)
    with pytest.raises(RuntimeError, match="far enough"):
        engine.connect()
    assert "ssl_context" not in seen[0]  # a laptop's PostgreSQL has no certificate
