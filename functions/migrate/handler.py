"""Lambda entry of migrate: brings the schema to its newest revision, at deploy."""

from typing import Any

from functions.migrate.run import upgrade
from shared.clients import connect_database
from shared.settings import read_settings
from shared.telemetry import logger

_TIMEOUT_SECONDS = 850.0
"""For one statement: an index on a large table takes minutes. Lambda ends the function at 900."""


def lambda_handler(_event: dict[str, Any], _context: Any) -> dict[str, str]:
    """Upgrades the schema and returns its revision. Again is fine: it does nothing."""
    engine = connect_database(read_settings(), timeout=_TIMEOUT_SECONDS)
    try:
        revision = upgrade(engine)
    finally:
        engine.dispose()
    logger.info("schema is up to date", revision=revision)
    return {"revision": revision}
