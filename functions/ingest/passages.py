"""Raw bytes → passages: the chunks that the sender cut, or those of our own chunker."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID, uuid5

import orjson

from functions.ingest.chunk import chunk
from functions.ingest.parse import parse
from functions.ingest.reader import FileReader
from shared.errors import DocumentRefused
from shared.model import CHUNKS_MEDIA_TYPE, Dataset, Document, Passage, Span
from shared.models.vectors import as_vector, unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a document's bytes hold.

    Attributes:
        passages: none of them blank; at least one.
        title: what the content calls itself.
        encoding: how the bytes were written, where they are text; `guessed` if nobody said so.
        left_out: what was not read, each in words.
    """

    passages: Sequence[Passage]
    title: str | None = None
    encoding: str | None = None
    guessed: bool = False
    left_out: Sequence[str] = ()


def read_content(
    document: Document, dataset: Dataset, load: Callable[[], bytes], reader: FileReader
) -> Content:
    """Returns what a document's bytes hold, cut as its dataset says.

    Args:
        document: what they are of.
        dataset: the document's.
        load: returns the bytes, which nobody keeps longer than they are needed.
        reader: reads what is more than text.

    Raises:
        DocumentRefused: the bytes can't be read, or hold no text.
    """
    if document.media_type == CHUNKS_MEDIA_TYPE:
        content = Content(passages=_take_chunks(dataset, load()))
    else:
        parsed = parse(load, document.media_type or "", reader)
        content = Content(
            passages=chunk(parsed, dataset.chunking),
            title=parsed.title,
            encoding=parsed.encoding,
            guessed=parsed.guessed,
            left_out=parsed.left_out,
        )
    if not content.passages:
        raise DocumentRefused("no_text", "the document holds no text")
    return content


def _take_chunks(dataset: Dataset, data: bytes) -> list[Passage]:
    sent = [each for each in orjson.loads(data)["chunks"] if each["text"].strip()]
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


def name_parents(document: Document, passages: Sequence[Passage]) -> list[str | None]:
    """Returns the id of each passage's parent, made as a chunk's is; None where it has none."""
    seen: Counter[str] = Counter()
    ids: dict[Span, str] = {}
    for parent in (passage.parent for passage in passages if passage.parent is not None):
        if parent.span not in ids:
            text = sha256(parent.text.encode()).hexdigest()
            name = f"{document.id}/parent/{text}/{seen[text]}"
            ids[parent.span] = str(uuid5(UUID(document.dataset_id), name))
            seen[text] += 1
    return [None if p.parent is None else ids[p.parent.span] for p in passages]
