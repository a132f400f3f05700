"""The schema's migrations, run through Alembic on a connection of ours."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from shared.errors import ConfigurationError
from shared.postgres.engine import read, transaction

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


def require_newest(engine: Engine) -> None:
    """Finds out whether the schema is the one that this code works with.

    Raises:
        ConfigurationError: it is another.
    """
    newest = ScriptDirectory(str(_HERE)).get_current_head()
    with read(engine) as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision != newest:
        raise ConfigurationError(
            f"The database has schema {revision or 'none'}, and this needs {newest}: "
            "run the migrations of the same Winnow first."
        )


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_HERE))
    config.attributes["connection"] = connection
    return config
