"""Settings → clients. Only the functions' handlers call this, once a process each.

What not every function needs is imported where it is needed: it counts in each cold start.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr
from sqlalchemy import Engine, make_url

from shared.errors import ConfigurationError
from shared.postgres.engine import connect
from shared.secrets import read_secret
from shared.settings import Settings, check_key

if TYPE_CHECKING:
    from shared.opensearch.client import SearchEngine


def connect_database(settings: Settings, *, timeout: float | None = None) -> Engine:
    """Returns the engine of the database; with IAM each connection is made with a new token.

    Args:
        settings: which database.
        timeout: seconds for one statement, in place of the settings' own.
    """
    url = settings.database_url.get_secret_value()
    check_place("WINNOW_DATABASE_URL", url)

    def sign() -> str:
        target = make_url(url)
        token = _open_rds().generate_db_auth_token(
            DBHostname=target.host, Port=target.port or 5432, DBUsername=target.username
        )
        return str(token)

    return connect(
        url,
        timeout=timeout or settings.database_timeout_seconds,
        pool_size=settings.database_connections,
        password=sign if settings.database_iam else None,
    )


def connect_search(settings: Settings) -> SearchEngine:
    """Returns the search engine's client."""
    from shared.opensearch.client import connect as connect_engine  # noqa: PLC0415

    check_place("WINNOW_OPENSEARCH_URL", settings.opensearch_url)
    return connect_engine(
        settings.opensearch_url,
        auth=settings.opensearch_auth,
        timeout=settings.opensearch_timeout_seconds,
        pool_size=settings.retrieval_executors,
    )


def check_place(setting: str, url: str) -> None:
    """Finds out whether a server is where it is looked for.

    Raises:
        ConfigurationError: this is a container of SAM's, and the server is said to be in it.
    """
    if os.environ.get("AWS_SAM_LOCAL") != "true":
        return
    host = urlsplit(url).hostname
    if host in {"127.0.0.1", "::1"}:
        raise ConfigurationError(
            f"{setting}: {host} is the container itself. The machine that it runs on is "
            "host.docker.internal."
        )


def find_bootstrap_key(settings: Settings) -> str | None:
    """Returns the administrator's key: the setting's own, or the one that Secrets Manager keeps.

    Raises:
        ConfigurationError: what Secrets Manager keeps is none.
    """
    if settings.bootstrap_key is not None:
        return settings.bootstrap_key.get_secret_value()
    if settings.bootstrap_key_secret is None:
        return None
    key = read_secret(settings.bootstrap_key_secret)
    try:
        return check_key(SecretStr(key)).get_secret_value()
    except ValueError as error:
        raise ConfigurationError(f"the secret of WINNOW_BOOTSTRAP_KEY_SECRET {error}") from None


@cache
def _open_rds() -> Any:
    # Each new connection needs a token, and a client takes longer to make than a token.
    import boto3  # noqa: PLC0415  it takes long to load, and only IAM needs it

    return boto3.client("rds")
