"""A collection's documents as the API takes them: one chunk each, with its vector."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

from local.evaluation.vectors import KeptVectors, Role


class DocumentBodies(Sequence[Mapping[str, Any]]):
    """Bodies that are made when they are looked at, so that few vectors are in memory at a time.

    Args:
        documents: id → text.
        vectors: holds each text's.
    """

    def __init__(self, documents: Mapping[str, str], vectors: KeptVectors) -> None:
        self._documents = list(documents.items())
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._documents)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._make(*each) for each in self._documents[index]]
        return self._make(*self._documents[index])

    def _make(self, id_: str, text: str) -> Mapping[str, Any]:
        vector = self._vectors.find(Role.PASSAGE, text).tolist()
        return {"name": id_, "external_id": id_, "chunks": [{"text": text, "vector": vector}]}
