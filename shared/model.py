"""The values that the parts of Winnow pass to each other: immutable, free of I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # they take long to load, and what reads files has no use for them
    import numpy as np
    from numpy.typing import NDArray
    from pyroaring import BitMap

type Vector = NDArray[np.float32]
"""One embedding, shape (dimension,)."""

# What queries make by the hundred are named tuples below, which are made three times as fast as
# frozen dataclasses.

type JsonObject = Mapping[str, Any]


class Channel(StrEnum):
    """One source of candidates."""

    VECTOR = "vector"
    TEXT = "text"
    KEYWORD = "keyword"


class SearchMethod(StrEnum):
    """Which channels a query asks."""

    SEMANTIC = "semantic_search"
    FULL_TEXT = "full_text_search"
    KEYWORD = "keyword_search"
    HYBRID = "hybrid_search"


class IndexingTechnique(StrEnum):
    """Whether a dataset's chunks have vectors: economy ones have none."""

    HIGH_QUALITY = "high_quality"
    ECONOMY = "economy"


class IndexingStatus(StrEnum):
    """How far a document's newest version has come."""

    WAITING = "waiting"
    PARSING = "parsing"
    SPLITTING = "splitting"
    INDEXING = "indexing"
    COMPLETED = "completed"
    ERROR = "error"


class Action(StrEnum):
    """What a change asks the ingest function to do."""

    PROCESS = "process"
    INDEX = "index"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Vectors of one space can be compared; each space has an index of its own.

    Attributes:
        provider: bedrock, openai_compatible, local, given, or none (an economy dataset's).
        model: the provider's name of the model; for `given`, the user's own name of the space.
        dimension: the length of every vector; 0 where there are none.
    """

    provider: str
    model: str
    dimension: int

    @property
    def has_vectors(self) -> bool:
        """Tells whether chunks of this space have a vector at all."""
        return self.dimension > 0


CHUNKS_MEDIA_TYPE = "application/vnd.winnow.chunks+json"
"""Content that its sender cut already: {"chunks": [{"text", "vector", "page"}]}."""

NO_VECTORS = EmbeddingSpace("none", "none", 0)


class Strategy(StrEnum):
    """How documents are cut into chunks."""

    HEADINGS = "headings"
    GENERAL = "general"
    PARENT_CHILD = "parent_child"
    QUESTION_ANSWER = "question_answer"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are cut. Sizes in tokens of `functions.ingest.tokens`.

    Attributes:
        size: the most that is searched as one.
        overlap: the most that a chunk repeats of the one before.
        delimiter: of `general`: where a chunk ends, wherever it stands; None = nowhere.
    """

    strategy: Strategy = Strategy.HEADINGS
    size: int = 400
    overlap: int = 40
    delimiter: str | None = None


@dataclass(frozen=True, slots=True)
class ExternalBase:
    """A knowledge base that somebody else answers for, by Dify's External Knowledge API.

    Attributes:
        endpoint: its base URL, to which /retrieval is added.
        knowledge_id: its name there.
        api_key: sent as bearer token, and shown nowhere.
    """

    endpoint: str
    knowledge_id: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A knowledge base: documents that share an embedding space, or an external one.

    Attributes:
        external: where an external base is asked; it has no documents and no vectors here.
    """

    id: str
    tenant_id: str
    name: str
    description: str = ""
    indexing_technique: IndexingTechnique = IndexingTechnique.HIGH_QUALITY
    space: EmbeddingSpace
    external: ExternalBase | None = None
    retrieval: JsonObject = field(default_factory=dict)
    chunking: Chunking = field(default_factory=Chunking)
    searchable_count: int = 0
    hidden_count: int = 0
    has_disabled_chunks: bool = False
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as PostgreSQL holds it.

    Attributes:
        seq: its number in bitmaps.
        version: the newest version that was sent.
        live_version: the version that queries find; None while there is none.
        index_version: the external version of its newest write to the search index.
        content_key: where the content store keeps the raw bytes of `version`.
        title: what its content calls itself, where that is not the name.
        encoding: how its bytes were written, where they are text; `guessed` if nobody said so.
        left_out: what was not read of its content, each in words.
        metadata: as it was sent.
        status_since: when `indexing_status` became what it is.
    """

    id: str
    seq: int
    tenant_id: str
    dataset_id: str
    external_id: str | None
    source: str | None
    name: str
    uploader: str
    version: int
    sequencer: str | None
    live_version: int | None
    index_version: int | None
    content_key: str | None
    media_type: str | None
    content_hash: str | None
    title: str | None
    encoding: str | None
    guessed: bool
    left_out: Sequence[str]
    chunking: JsonObject | None
    indexing_status: IndexingStatus
    error_code: str | None
    error: str | None
    enabled: bool
    archived: bool
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    deleted_at: datetime | None
    status_since: datetime

    @property
    def is_visible(self) -> bool:
        """Tells whether nothing hides it from queries."""
        return self.enabled and not self.archived and self.deleted_at is None


@dataclass(frozen=True, slots=True)
class Change:
    """Which document changed; never what it holds. On SQS and in the outbox."""

    tenant_id: str
    dataset_id: str
    document_id: str
    version: int
    action: Action


@dataclass(frozen=True, slots=True)
class Span:
    """Where a chunk lies in its document's text: characters start (included) to end (excluded)."""

    start: int
    end: int


def put_heading(heading: str, text: str) -> str:
    """Returns what is embedded and analysed of a chunk: its heading path, if any, then its text."""
    return f"{heading}\n{text}" if heading else text


@dataclass(frozen=True, slots=True)
class Parent:
    """A piece that is not searched itself, but returned for the smaller ones it was cut into."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece that the chunker cut.

    Its text is document[span.start:span.end]; the heading path is outside it.

    Attributes:
        page: the one that it begins on, from 1; None in a document without pages.
        parent: what is returned when this piece is found; None = itself.
    """

    text: str
    position: int
    span: Span | None = None
    heading: str = ""
    page: int | None = None
    vector: Vector | None = None
    parent: Parent | None = None

    @property
    def searchable_text(self) -> str:
        """What is embedded and analysed: the heading path, then the text."""
        return put_heading(self.heading, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChunk:
    """One document of the search index.

    Attributes:
        words: the analysed text, tokens with single blanks between.
        keywords: the distinct content words for the keyword channel.
        vector: None in a space without vectors.
        index_version: the external version of the write.
    """

    id: str
    tenant_id: str
    dataset_id: str
    document_seq: int
    words: str
    keywords: Sequence[str]
    vector: Vector | None
    index_version: int


class ListedChunk(NamedTuple):
    """A chunk that the search index holds, under an external version.

    Attributes:
        stored_as: the id that the index has it under, where that is not the chunk's: no writer of
            ours put it there. None else.
    """

    chunk_id: str
    dataset_id: str
    document_seq: int
    version: int
    stored_as: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that is asked about: its bytes, and their media type (image/png, ...)."""

    media_type: str
    data: bytes = field(repr=False)


class SourceObject(NamedTuple):
    """What a user put into a bucket.

    Attributes:
        data: its bytes.
        media_type: what its sender says that it is, maybe with a charset; nothing is checked.
    """

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class AllDocuments:
    """No filter, or one that every document passes."""


@dataclass(frozen=True, slots=True)
class TheseDocuments:
    """The documents that pass a filter, by their `seq`; never empty."""

    seqs: "BitMap"


@dataclass(frozen=True, slots=True)
class NoDocuments:
    """A filter that nothing passes: the dataset is not searched."""


type Allowlist = AllDocuments | TheseDocuments | NoDocuments


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What one search of one embedding space may find.

    Attributes:
        datasets: (dataset id, its allowlist); at least one, none of them NoDocuments. A document's
            `seq` is in no other dataset, so it is in no other's allowlist.
        hidden: `seq`s of indexed documents that must not take a place; empty when there are none.
        disabled: ids of chunks, likewise.
    """

    tenant_id: str
    space: EmbeddingSpace
    datasets: Sequence[tuple[str, AllDocuments | TheseDocuments]]
    hidden: "BitMap"
    disabled: Sequence[str] = ()


class Hit(NamedTuple):
    """One answer of one channel.

    Attributes:
        score: the channel's own: a cosine (vector), BM25 (text), summed word weights (keyword);
            None if it gave none.
        cosine: the true cosine with the query vector, where the channel's call brought it along.
        bm25: of the query's words, where a call that is not about them brought it along; None also
            where the chunk holds none of them.
    """

    chunk_id: str
    score: float | None
    cosine: float | None = None
    bm25: float | None = None


class Standing(NamedTuple):
    """Where a candidate stands in one channel: rank (1-based) and the channel's raw score."""

    rank: int
    score: float | None


class Candidate(NamedTuple):
    """One chunk that at least one channel found.

    Attributes:
        channels: its standing in each channel that found it.
        cosine: V, None while unknown.
        bm25: of the query's words, as the engine gives it; None where it gave none.
    """

    chunk_id: str
    channels: Mapping[Channel, Standing]
    cosine: float | None = None
    bm25: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalQuestion:
    """What an external base is asked, in the terms of Dify's External Knowledge API.

    Attributes:
        threshold: 0 is off there.
        condition: its `metadata_condition`: {"logical_operator", "conditions"}; None = no filter.
    """

    query: str
    top_k: int
    threshold: float
    condition: JsonObject | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalHit:
    """One record of an external base.

    Attributes:
        score: the base's own, finite; 0 where it gave none.
        source: where the base says that the text comes from.
    """

    content: str
    score: float
    title: str
    metadata: JsonObject
    source: str | None


@dataclass(frozen=True, slots=True)
class ExternalAnswer:
    """What an external base found, in its order.

    Attributes:
        left_out: how many records can't be used: they have no text, or hold what is none.
    """

    hits: Sequence[ExternalHit]
    left_out: int = 0
