"""Settings → clients. Only the functions' handlers call this, once a process each."""

from sqlalchemy import Engine, make_url

from shared.opensearch.client import SearchEngine
from shared.opensearch.client import connect as connect_engine
from shared.postgres.engine import connect
from shared.settings import Settings


def connect_database(settings: Settings, pool_size: int = 5) -> Engine:
    """Returns the engine of the database; with IAM each connection is made with a new token."""
    url = settings.database_url.get_secret_value()

    def sign() -> str:
        import boto3  # noqa: PLC0415  it takes long to load, and only IAM needs it

        target = make_url(url)
        client = boto3.client("rds")
        return str(
            client.generate_db_auth_token(
                DBHostname=target.host, Port=target.port or 5432, DBUsername=target.username
            )
        )

    return connect(
        url,
        timeout=settings.database_timeout_seconds,
        pool_size=pool_size,
        password=sign if settings.database_iam else None,
    )


def connect_search(settings: Settings) -> SearchEngine:
    """Returns the search engine's client."""
    return connect_engine(
        settings.opensearch_url,
        auth=settings.opensearch_auth,
        timeout=settings.opensearch_timeout_seconds,
        pool_size=settings.retrieval_executors,
    )


def find_bootstrap_key(settings: Settings) -> str | None:
    """Returns the administrator's key: the setting's own, or the one that Secrets Manager keeps."""
    if settings.bootstrap_key is not None:
        return settings.bootstrap_key.get_secret_value()
    if settings.bootstrap_key_secret is None:
        return None
    import boto3  # noqa: PLC0415  it takes long to load, and only this needs it

    client = boto3.client("secretsmanager")
    return str(client.get_secret_value(SecretId=settings.bootstrap_key_secret)["SecretString"])
