"""Settings of a process whose stores are nowhere."""

from typing import Any

from shared.settings import Settings


def make_settings(**given: Any) -> Settings:
    """Returns settings that say this, and of the rest what they must."""
    stores: dict[str, Any] = {
        "database_url": "postgresql+pg8000://",
        "opensearch_url": "http://127.0.0.1:9",
        "content_url": "file:///nowhere",
    }
    return Settings(**stores | given)
