"""Parents: the texts that are returned for the chunks they were cut into.

A membership names its chunk's parent, for that is a matter of the version. A parent's text never
changes: its id is made of it.
"""

from collections.abc import Iterable
from itertools import batched

from sqlalchemy import Connection, Text, delete, exists, not_, select
from sqlalchemy.dialects.postgresql import insert

from shared.model import Document
from shared.postgres.arrays import ID, column, one
from shared.postgres.tables import memberships, parents

_AT_ONCE = 500


def store_parents(
    connection: Connection, document: Document, new: Iterable[tuple[str, str]]
) -> None:
    """Stores the parents that are not there yet, ids and texts, before memberships name them."""
    for batch in batched(new, _AT_ONCE, strict=False):
        ids, texts = zip(*batch, strict=True)
        connection.execute(
            _INSERT, {"document": document.id, "ids": list(ids), "texts": list(texts)}
        )


def forget_parents(connection: Connection, document_id: str) -> None:
    """Forgets the parents of a document that no membership names."""
    connection.execute(
        delete(parents).where(
            parents.c.document_id == document_id,
            not_(exists().where(memberships.c.parent_id == parents.c.id)),
        )
    )


_INSERT = (
    insert(parents)
    .from_select(
        ["document_id", "id", "text"],
        select(one("document", ID), column("ids", ID, Text()), column("texts", Text(), Text())),
    )
    .on_conflict_do_nothing()
)
