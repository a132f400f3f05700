"""What every `IndexBuilder` does to its `ChunkIndex`."""

import pytest

from shared.errors import IndexUnavailable
from shared.model import ListedChunk
from tests.contract.chunks.conftest import Chunks
from tests.contract.chunks.test_chunk_index import Spaces, holding
from tests.fakes.build import chunk


def test_an_index_is_built_beside_the_old_one_and_takes_its_place(
    chunks: Chunks, new_space: Spaces
) -> None:
    space, building = new_space(2), chunks.index.building
    chunks.index.upsert(space, [chunk("old", "one", (1, 0))])
    chunks.builder.begin(space)
    assert len(chunks.builder.list_leftovers([space])) == 1
    assert building.list_chunks(space, None, None, 9) == []
    building.ensure(space)
    building.upsert(space, [chunk("new", "one", (1, 0), version=5)])
    building.refresh(space)
    assert building.list_chunks(space, None, None, 9) == [ListedChunk("new", "d", 1, 5)]
    assert holding(chunks, space, "one") == ["old"]
    chunks.builder.put_live(space)
    assert holding(chunks, space, "one") == ["new"]
    # Both names lead to it now: those who still write to both do no harm.
    for index in (chunks.index, building):
        index.upsert(space, [chunk("both", "one", (1, 0), version=6)])
    chunks.builder.finish(space)
    building.upsert(space, [chunk("late", "one", (1, 0), version=7)])
    building.refresh(space)
    assert building.list_chunks(space, None, None, 9) == []
    assert holding(chunks, space, "one") == ["both", "new"]
    assert chunks.builder.list_leftovers([space]) == []


def test_where_nothing_is_built_writes_to_it_do_nothing(chunks: Chunks, new_space: Spaces) -> None:
    space, building = new_space(2), chunks.index.building
    seen = ListedChunk("a", "d", 1, 1)
    building.ensure(space)
    building.upsert(space, [chunk("a", "one", (1, 0))])
    building.delete(space, ["a"], 2)
    building.delete_seen(space, [seen])
    building.refresh(space)
    assert building.list_chunks(space, None, None, 9) == []
    assert chunks.builder.list_leftovers([space]) == []


def test_what_was_begun_is_gone_on_with(chunks: Chunks, new_space: Spaces) -> None:
    space, building = new_space(2), chunks.index.building
    chunks.builder.begin(space)
    building.upsert(space, [chunk("a", "one", (1, 0))])
    chunks.builder.begin(space)
    building.refresh(space)
    assert building.list_chunks(space, None, None, 9) == [ListedChunk("a", "d", 1, 1)]
    chunks.builder.put_live(space)
    chunks.builder.finish(space)
    assert holding(chunks, space, "one") == ["a"]


def test_what_was_put_live_and_not_finished_is_built_anew(
    chunks: Chunks, new_space: Spaces
) -> None:
    space, building = new_space(2), chunks.index.building
    chunks.builder.begin(space)
    building.upsert(space, [chunk("a", "one", (1, 0))])
    chunks.builder.put_live(space)
    chunks.builder.begin(space)
    assert building.list_chunks(space, None, None, 9) == []
    assert holding(chunks, space, "one") == ["a"]
    building.upsert(space, [chunk("b", "one", (1, 0))])
    building.refresh(space)
    chunks.builder.put_live(space)
    chunks.builder.finish(space)
    assert holding(chunks, space, "one") == ["b"]


def test_a_space_without_an_index_gets_one(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.builder.begin(space)
    chunks.builder.put_live(space)
    chunks.builder.finish(space)
    assert holding(chunks, space, "one") == []
    chunks.index.upsert(space, [chunk("a", "one", (1, 0))])
    assert holding(chunks, space, "one") == ["a"]


def test_versions_hold_in_the_index_that_is_built_too(chunks: Chunks, new_space: Spaces) -> None:
    space, building = new_space(2), chunks.index.building
    chunks.builder.begin(space)
    building.delete(space, ["a"], 5)
    building.upsert(space, [chunk("a", "one", (1, 0), version=4)])
    building.upsert(space, [chunk("b", "one", (1, 0), version=4)])
    building.delete_seen(space, [ListedChunk("b", "d", 1, 3)])
    building.refresh(space)
    assert building.list_chunks(space, None, None, 9) == [ListedChunk("b", "d", 1, 4)]


def test_nothing_can_be_put_live_that_was_not_begun(chunks: Chunks, new_space: Spaces) -> None:
    space = new_space(2)
    chunks.index.upsert(space, [chunk("a", "one", (1, 0))])
    with pytest.raises(IndexUnavailable):
        chunks.builder.put_live(space)
    assert holding(chunks, space, "one") == ["a"]
    chunks.builder.finish(space)
    assert holding(chunks, space, "one") == ["a"]
