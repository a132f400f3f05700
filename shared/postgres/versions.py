"""The external versions of writes to the search index: one sequence, which never goes back.

Unless the database is set back to an older copy, and with it the sequence: then the index holds
versions that are still to come, and takes no write below them.
"""

from sqlalchemy import Connection, select, text

from shared.postgres.tables import index_versions


def draw_version(connection: Connection) -> int:
    """Returns a version above all that were drawn before."""
    version: int = connection.execute(select(index_versions.next_value())).scalar_one()
    return version


def read_newest(connection: Connection) -> int:
    """Returns the version that was drawn last."""
    newest: int = connection.execute(
        text(f"SELECT last_value FROM {index_versions.name}")  # noqa: S608, our own name
    ).scalar_one()
    return newest


def raise_versions(connection: Connection, least: int) -> None:
    """Makes every version that is drawn after this transaction greater than `least`."""
    # Nobody draws while this holds its lock: a number read before could set the sequence back.
    connection.execute(text(f"ALTER SEQUENCE {index_versions.name} INCREMENT BY 1"))
    connection.execute(
        text(
            f"SELECT setval('{index_versions.name}', :least) FROM {index_versions.name}"  # noqa: S608, our own name
            " WHERE last_value < :least"
        ),
        {"least": least},
    )
