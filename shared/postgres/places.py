"""Where the next call of an unfinished reconcile run goes on."""

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from shared.model import JsonObject
from shared.postgres.tables import reconcile_place


def read_place(connection: Connection) -> JsonObject | None:
    """Returns the place that was kept; None where no run is unfinished."""
    place: JsonObject | None = connection.scalar(select(reconcile_place.c.place))
    return place


def keep_place(connection: Connection, place: JsonObject | None) -> None:
    """Keeps a place instead of the one before; None = the run is finished."""
    if place is None:
        connection.execute(delete(reconcile_place))
        return
    values = {"place": dict(place)}
    connection.execute(
        insert(reconcile_place)
        .values(is_only=True, **values)
        .on_conflict_do_update(index_elements=[reconcile_place.c.is_only], set_=values)
    )
