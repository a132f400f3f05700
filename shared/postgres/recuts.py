"""Documents whose live content is to be cut anew."""

from sqlalchemy import Connection, exists, not_, select

from shared.model import CHUNKS_MEDIA_TYPE, Action, Change
from shared.postgres import outbox
from shared.postgres.tables import documents
from shared.postgres.tables import outbox as outboxes


def put_recuts(
    connection: Connection, dataset_id: str, after: str | None, most: int
) -> list[Change]:
    """Puts the work of cutting documents anew, by id those after one, and returns it.

    Left out are those that their sender cut, those that have other work, and those that somebody
    has locked, who gives them some.
    """
    d = documents.c
    statement = (
        select(d.tenant_id, d.dataset_id, d.id, d.version)
        .where(
            d.dataset_id == dataset_id,
            d.deleted_at.is_(None),
            d.live_version == d.version,
            d.content_key.is_not(None),
            d.media_type != CHUNKS_MEDIA_TYPE,
            not_(exists().where(outboxes.c.document_id == d.id)),
        )
        .order_by(d.id)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    if after is not None:
        statement = statement.where(d.id > after)
    changes = [Change(*row, Action.PROCESS) for row in connection.execute(statement)]
    for change in changes:
        outbox.put(connection, change)
    return changes
