"""Lambda entry of migrate: brings the schema to its newest revision, at deploy."""

from typing import Any

from functions.migrate.run import upgrade
from shared.clients import connect_database
from shared.settings import read_settings
from shared.telemetry import logger


def lambda_handler(_event: dict[str, Any], _context: Any) -> dict[str, str]:
    """Upgrades the schema and returns its revision. Again is fine: it does nothing."""
    revision = upgrade(connect_database(read_settings()))
    logger.info("schema is up to date", revision=revision)
    return {"revision": revision}
