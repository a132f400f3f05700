import pytest

from functions.migrate import handler
from shared.settings import Settings


def test_the_function_brings_the_schema_up_and_may_run_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        database_url=database_url,
        opensearch_url="http://127.0.0.1:1",
        content_url="file:///nowhere",
    )
    monkeypatch.setattr(handler, "read_settings", lambda: settings)
    first = handler.lambda_handler({}, None)
    assert first["revision"]
    assert handler.lambda_handler({}, None) == first
