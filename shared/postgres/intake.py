"""Taking a document in: its bytes are safe before its row is, and the row tells of the work."""

from uuid import UUID, uuid4, uuid5

from sqlalchemy import Engine

from shared.errors import NotFound, Overtaken, StaleVersion
from shared.model import Change, Dataset, Document
from shared.ports import ContentStore
from shared.postgres.documents import DocumentWrite, save_document
from shared.postgres.engine import transaction


def name_document(dataset_id: str, identity: str) -> str:
    """Returns the id of the document with this external id or source URI: the same each time."""
    return str(uuid5(UUID(dataset_id), identity))


def name_content(dataset: Dataset, document_id: str) -> str:
    """Returns a content key that no other write has, not even one of the same bytes."""
    return f"{dataset.tenant_id}/{dataset.id}/{document_id}/{uuid4()}"


def accept_document(
    engine: Engine, content: ContentStore, write: DocumentWrite, data: bytes
) -> tuple[Document, Change | None]:
    """Stores bytes, document and outbox row, in this order, and forgets the bytes they replace.

    Returns:
        The document, and the change to send; None where there is nothing left to do.

    Raises:
        StaleVersion: the document has that version or a newer one.
        Overtaken: it changed since the version that the write has seen.
    """
    content.put(write.content_key, data, write.media_type)
    try:
        with transaction(engine) as connection:
            saved = save_document(connection, write)
    except (StaleVersion, Overtaken, NotFound):
        # Only where it is certain that no row names the bytes: a lost connection leaves that open.
        content.delete(write.content_key)
        raise
    if saved.document.content_key != write.content_key:
        content.delete(write.content_key)
    if saved.replaced is not None:
        content.delete(saved.replaced)
    return saved.document, saved.change
