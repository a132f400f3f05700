"""Values for tests, with what a test does not care about filled in."""

from collections.abc import Sequence

import numpy as np
from pyroaring import BitMap

from shared.model import (
    AllDocuments,
    EmbeddingSpace,
    IndexedChunk,
    SearchScope,
    TheseDocuments,
    Vector,
)


def vector(*numbers: float) -> Vector:
    return np.array(numbers, dtype=np.float32)


def chunk(
    chunk_id: str,
    words: str = "",
    numbers: Sequence[float] | None = None,
    *,
    document: int = 1,
    dataset: str = "d",
    tenant: str = "t",
    version: int = 1,
) -> IndexedChunk:
    """Returns a chunk whose keywords are its words."""
    return IndexedChunk(
        id=chunk_id,
        tenant_id=tenant,
        dataset_id=dataset,
        document_seq=document,
        words=words,
        keywords=sorted(set(words.split())),
        vector=None if numbers is None else vector(*numbers),
        index_version=version,
    )


def scope(
    space: EmbeddingSpace,
    *datasets: tuple[str, AllDocuments | TheseDocuments],
    tenant: str = "t",
    hidden: Sequence[int] = (),
    disabled: Sequence[str] = (),
) -> SearchScope:
    """Returns a scope; all of dataset d unless it says otherwise."""
    everything = (("d", AllDocuments()),)
    return SearchScope(tenant, space, datasets or everything, BitMap(hidden), disabled)


def these(*seqs: int) -> TheseDocuments:
    return TheseDocuments(BitMap(seqs))
