"""What every `ChunkIndex` does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shared.errors import DocumentRefused
from shared.model import NO_VECTORS, EmbeddingSpace, ListedChunk
from tests.contract.chunks.conftest import Chunks
from tests.fakes.build import chunk, scope, vector

LIMIT = 5.0
Spaces = Callable[[int], EmbeddingSpace]


def holding(chunks: Chunks, space: EmbeddingSpace, word: str) -> list[str]:
    chunks.index.refresh(space)
    hits = chunks.search.search_text(scope(space), [word], 2000, LIMIT)
    return sorted(hit.chunk_id for hit in hits)


def test_what_is_written_shows_after_a_refresh(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.ensure(space)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0))])
    assert chunks.search.search_text(scope(space), ["one"], 9, LIMIT) == []
    assert holding(chunks, space, "one") == ["a"]


def test_ensure_can_be_repeated_and_keeps_what_is_there(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.ensure(space)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0))])
    chunks.index.ensure(space)
    assert holding(chunks, space, "one") == ["a"]


def test_j06_a_write_makes_the_index_that_is_missing(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0))])
    assert holding(chunks, space, "one") == ["a"]


def test_a_space_without_vectors_takes_chunks_without(chunks: Chunks) -> None:
    chunks.index.upsert(NO_VECTORS, [chunk("a", "one")])
    assert holding(chunks, NO_VECTORS, "one") == ["a"]


@pytest.mark.parametrize(("version", "kept"), [(1, "old"), (2, "old"), (3, "new")])
def test_only_a_newer_version_replaces_a_chunk(
    chunks: Chunks, new_space: Spaces, version: int, kept: str
) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "old", (1, 0), version=2)])
    chunks.index.upsert(space, [chunk("a", "new", (1, 0), version=version)])
    assert holding(chunks, space, kept) == ["a"]
    assert holding(chunks, space, "new" if kept == "old" else "old") == []


@pytest.mark.parametrize(("version", "left"), [(1, ["a"]), (2, ["a"]), (3, [])])
def test_only_a_newer_version_deletes_a_chunk(
    chunks: Chunks, new_space: Spaces, version: int, left: list[str]
) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0), version=2)])
    chunks.index.delete(space, ["a"], version)
    assert holding(chunks, space, "one") == left


def test_a_delete_beats_an_older_write_that_comes_late(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.ensure(space)
    chunks.index.delete(space, ["a"], 5)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0), version=4)])
    assert holding(chunks, space, "one") == []


def test_deleting_what_is_not_there_is_success(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.delete(space, ["a"], 1)
    chunks.index.refresh(space)
    chunks.index.upsert(space, [chunk("b", "one", (1, 0))])
    chunks.index.delete(space, ["a", "c"], 2)
    assert holding(chunks, space, "one") == ["b"]


def test_i03_deleting_an_empty_list_deletes_nothing(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0))])
    chunks.index.delete(space, [], 9)
    chunks.index.delete_seen(space, [])
    chunks.index.upsert(space, [])
    assert holding(chunks, space, "one") == ["a"]


def test_i09_1201_chunks_are_written_at_once(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(0)
    chunks.index.upsert(space, [chunk(f"c{n}", "one") for n in range(1201)])
    assert len(holding(chunks, space, "one")) == 1201
    chunks.index.delete(space, [f"c{n}" for n in range(1200)], 2)
    assert holding(chunks, space, "one") == ["c1200"]


def test_chunks_are_listed_by_id_with_dataset_document_and_version(
    chunks: Chunks, new_space: Spaces
) -> None:
    space = new_space(2)
    assert chunks.index.list_chunks(space, None, None, 9) == []  # there is no index yet
    written = [
        chunk(n, "one", (1, 0), dataset=f"d{n}", document=v + 10, version=v)
        for n, v in zip("bca", (5, 6, 7), strict=True)
    ]
    chunks.index.upsert(space, written)
    assert chunks.index.list_chunks(space, None, None, 9) == []  # nobody sees it yet
    chunks.index.refresh(space)
    a, b, c = (ListedChunk(n, f"d{n}", v + 10, v) for n, v in (("a", 7), ("b", 5), ("c", 6)))
    assert chunks.index.list_chunks(space, None, None, 9) == [a, b, c]
    assert chunks.index.list_chunks(space, None, None, 2) == [a, b]
    assert chunks.index.list_chunks(space, "a", None, 9) == [b, c]
    assert chunks.index.list_chunks(space, "a", "b", 9) == [b]
    assert chunks.index.list_chunks(space, "aa", "ab", 9) == []
    assert chunks.index.list_chunks(space, None, "b", 1) == [a]


@pytest.mark.parametrize(("version", "left"), [(1, ["a"]), (2, []), (3, [])])
def test_what_was_seen_is_deleted_unless_it_is_newer_by_now(
    chunks: Chunks, new_space: Spaces, version: int, left: list[str]
) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0), version=2)])
    chunks.index.delete_seen(space, [ListedChunk("a", "d", 1, version)])
    assert holding(chunks, space, "one") == left


def test_what_comes_after_a_deletion_of_what_was_seen_is_written(
    chunks: Chunks, new_space: Spaces
) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0), version=2)])
    chunks.index.delete_seen(space, [ListedChunk("a", "d", 1, 2)])
    chunks.index.delete_seen(space, [ListedChunk("a", "d", 1, 2)])
    chunks.index.delete_seen(space, [])
    chunks.index.upsert(space, [chunk("a", "two", (1, 0), version=3)])
    assert holding(chunks, space, "two") == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(None, id="none"),
        pytest.param((), id="empty"),
        pytest.param((1, 0, 0), id="too long"),
        pytest.param((np.nan, 0), id="not a number"),
        pytest.param((np.inf, 0), id="infinite"),
        pytest.param((0, 0), id="no direction"),
    ],
)
def test_j07_a_vector_that_does_not_fit_is_refused_before_any_write(
    chunks: Chunks, new_space: Spaces, wrong: tuple[float, ...] | None
) -> None:
    space = new_space(2)
    chunks.index.ensure(space)
    with pytest.raises(DocumentRefused) as refused:
        chunks.index.upsert(space, [chunk("a", "one", (1, 0)), chunk("b", "one", wrong)])
    assert refused.value.code == "embedding"
    assert holding(chunks, space, "one") == []


def test_j07_whole_numbers_are_numbers(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    whole: Any = np.array([3, 4])
    chunks.index.upsert(space, [replace(chunk("a", "one"), vector=whole)])
    chunks.index.refresh(space)
    assert chunks.search.find_cosines(scope(space), ["a"], vector(1, 0), LIMIT) == {"a": 0.6}
