"""Raw bytes → passages: the chunks that the sender cut, or those of our own chunker."""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID, uuid5

from functions.ingest.chunk import chunk
from functions.ingest.parse import parse
from shared.errors import DocumentRefused
from shared.model import CHUNKS_MEDIA_TYPE, Dataset, Document, Passage
from shared.models.vectors import as_vector, unit


def cut_passages(document: Document, dataset: Dataset, data: bytes) -> list[Passage]:
    """Returns the passages of a document's content, none of them blank.

    Raises:
        DocumentRefused: the bytes can't be read, or hold no text.
    """
    if document.media_type == CHUNKS_MEDIA_TYPE:
        passages = _take_chunks(dataset, data)
    else:
        parsed = parse(data, document.media_type or "", document.name)
        passages = chunk(parsed, dataset.chunking)
    if not passages:
        raise DocumentRefused("no_text", "the document holds no text")
    return passages


def _take_chunks(dataset: Dataset, data: bytes) -> list[Passage]:
    sent = [each for each in json.loads(data)["chunks"] if each["text"].strip()]
    dimension = dataset.space.dimension
    return [
        Passage(
            text=each["text"],
            position=position,
            page=each.get("page"),
            vector=unit(as_vector(each["vector"], dimension)) if each.get("vector") else None,
        )
        for position, each in enumerate(sent, start=1)
    ]


def name_chunks(document: Document, passages: Sequence[Passage]) -> list[str]:
    """Returns each passage's chunk id: the same text of the same document has the same id again.

    uuid5 of the dataset, over document, SHA-256 of the searchable text (and of the vector, where
    the sender brought one) and the occurrence number of that text in the document.
    """
    seen: Counter[str] = Counter()
    ids = []
    for passage in passages:
        digest = sha256(passage.searchable_text.encode())
        if passage.vector is not None:
            digest.update(passage.vector.tobytes())
        text = digest.hexdigest()
        ids.append(str(uuid5(UUID(document.dataset_id), f"{document.id}/{text}/{seen[text]}")))
        seen[text] += 1
    return ids
