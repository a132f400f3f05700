import pytest
from pydantic import ValidationError

from shared.settings import Settings

NEEDED = ("DATABASE_URL", "OPENSEARCH_URL", "CONTENT_URL")


@pytest.mark.parametrize("missing", NEEDED)
def test_a_setting_that_is_missing_shows_no_other(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in NEEDED:
        monkeypatch.setenv(f"WINNOW_{name}", "hunter2")
    monkeypatch.setenv("WINNOW_OPENAI_API_KEY", "hunter2")
    monkeypatch.delenv(f"WINNOW_{missing}")
    with pytest.raises(ValidationError, match=missing.lower()) as refused:
        Settings()
    assert "hunter2" not in str(refused.value)
