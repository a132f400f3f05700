"""Taking a document in: its bytes are safe before its row is, and the row tells of the work."""

from uuid import UUID, uuid5

from sqlalchemy import Engine

from shared.model import Change, Document
from shared.ports import ContentStore
from shared.postgres.documents import DocumentWrite, save_document
from shared.postgres.engine import transaction


def name_document(dataset_id: str, identity: str) -> str:
    """Returns the id of the document with this external id or source URI: the same each time."""
    return str(uuid5(UUID(dataset_id), identity))


def accept_document(
    engine: Engine, content: ContentStore, write: DocumentWrite, data: bytes
) -> tuple[Document, Change | None]:
    """Stores bytes, document and outbox row, in this order, and forgets the bytes they replace.

    Returns:
        The document, and the change to send; None where there is nothing left to do.

    Raises:
        StaleVersion: the document has that version or a newer one.
    """
    content.put(write.content_key, data, write.media_type)
    with transaction(engine) as connection:
        saved = save_document(connection, write)
    if saved.replaced is not None:
        content.delete(saved.replaced)
    return saved.document, saved.change
