"""The schema's migrations, run through Alembic on a connection of ours."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine

from shared.postgres.engine import transaction

_HERE = Path(__file__).parent


def upgrade(engine: Engine, revision: str = "head") -> str:
    """Brings the schema up to a revision and returns the one it has then; waits for another run."""
    with transaction(engine) as connection:
        # Two deploys at once: the second waits here, then finds nothing to do.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(8461727)")
        command.upgrade(_config(connection), revision)
        return MigrationContext.configure(connection).get_current_revision() or ""


def downgrade(engine: Engine, revision: str) -> None:
    """Takes the schema back to an earlier revision; "base" leaves nothing."""
    with transaction(engine) as connection:
        command.downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_HERE))
    config.attributes["connection"] = connection
    return config
