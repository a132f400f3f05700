"""The index and its alias on the real engine: made by our mapping, or not at all."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from shared.errors import ConfigurationError, DocumentRefused, IndexUnavailable
from shared.model import NO_VECTORS, EmbeddingSpace, ListedChunk
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.mapping import alias_name, index_name
from shared.opensearch.search import OpenSearchChunkSearch
from shared.opensearch.start import refuse_serverless
from tests.fakes.build import chunk, scope, vector

SPACE = EmbeddingSpace("given", "tests", 2)


def read_indices(engine: SearchEngine, prefix: str) -> Mapping[str, Any]:
    return engine.request("GET", f"/{prefix}*")


def test_j06_an_index_deleted_by_hand_comes_back_with_its_own_mapping(
    engine: SearchEngine,
    index: OpenSearchChunkIndex,
    search: OpenSearchChunkSearch,
    index_prefix: str,
) -> None:
    index.ensure(SPACE)
    index.upsert(SPACE, [chunk("a", "one", (1, 0))])
    made = read_indices(engine, index_prefix)
    (name,) = made
    engine.request("DELETE", f"/{name}")

    index.upsert(SPACE, [chunk("b", "two", (0.6, 0.8), version=2)])

    assert read_indices(engine, index_prefix)[name]["mappings"] == made[name]["mappings"]
    assert made[name]["mappings"]["dynamic"] == "strict"
    index.refresh(SPACE)
    (hit,) = search.search_vector(scope(SPACE), vector(1, 0), 9, 5)
    assert (hit.chunk_id, hit.cosine) == ("b", 0.6)


def test_deleting_from_an_index_that_is_missing_makes_none(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    index.delete(SPACE, ["a", "b"], 7)
    index.refresh(SPACE)
    assert read_indices(engine, index_prefix) == {}


def test_many_writers_may_make_the_index_at_once(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(index.ensure, SPACE) for _ in range(8)]:
            done.result()
    assert len(read_indices(engine, index_prefix)) == 1


def test_an_alias_taken_away_by_hand_is_put_back(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    index.ensure(SPACE)
    alias = alias_name(index_prefix, SPACE)
    made = read_indices(engine, index_prefix)
    engine.request("DELETE", f"/{index_name(alias)}/_alias/{alias}")
    index.upsert(SPACE, [chunk("a", "one", (1, 0))])
    put_back = read_indices(engine, index_prefix)
    assert put_back[index_name(alias)]["aliases"] == made[index_name(alias)]["aliases"]


def test_an_index_with_the_name_of_the_alias_is_one_clear_error(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    alias = alias_name(index_prefix, SPACE)
    engine.request("PUT", f"/{alias}")
    with pytest.raises(ConfigurationError, match=alias):
        index.ensure(SPACE)
    with pytest.raises(ConfigurationError, match=alias):
        index.upsert(SPACE, [chunk("a", "one", (1, 0))])
    assert engine.request("GET", f"/{alias}/_count")["count"] == 0


def test_shards_and_replicas_are_as_told(engine: SearchEngine, index_prefix: str) -> None:
    OpenSearchChunkIndex(engine, index_prefix, shards=2, replicas=0).ensure(NO_VECTORS)
    (made,) = read_indices(engine, index_prefix).values()
    settings = made["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("2", "0")
    assert "vector" not in made["mappings"]["properties"]


def test_vectors_stay_out_of_what_the_engine_keeps_as_source(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    index.upsert(SPACE, [chunk("a", "one", (1, 0))])
    kept = engine.request("GET", f"/{alias_name(index_prefix, SPACE)}/_doc/a")["_source"]
    assert set(kept) == {"tenant", "dataset", "chunk", "document", "text", "keywords"}


def test_a_chunk_that_the_engine_will_never_take_is_refused_with_its_reason(
    index: OpenSearchChunkIndex,
) -> None:
    good = chunk("good", "one", (1, 0))
    endless = replace(chunk("bad", "one", (1, 0)), keywords=["x" * 40_000])
    with pytest.raises(DocumentRefused, match=r"chunk bad: .*immense term") as refused:
        index.upsert(SPACE, [good, endless])
    assert refused.value.code == "internal"


def test_a_closed_index_is_an_outage_and_takes_writes_again_once_it_is_open(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    index.upsert(SPACE, [chunk("a", "one", (1, 0))])
    name = index_name(alias_name(index_prefix, SPACE))
    engine.request("POST", f"/{name}/_close")
    with pytest.raises(IndexUnavailable, match="index_closed"):
        index.upsert(SPACE, [chunk("b", "two", (1, 0))])
    with pytest.raises(IndexUnavailable, match="index_closed"):
        index.delete(SPACE, ["a"], 7)
    with pytest.raises(IndexUnavailable, match="index_closed"):
        index.delete_seen(SPACE, [ListedChunk("a", "d", 3, 1)])
    engine.request("POST", f"/{name}/_open?wait_for_active_shards=1")
    index.upsert(SPACE, [chunk("b", "two", (1, 0))])
    index.delete(SPACE, ["a"], 7)
    index.refresh(SPACE)
    assert [each.chunk_id for each in index.list_chunks(SPACE, None, None, 9)] == ["b"]


def test_a_closed_index_is_replaced_by_one_that_is_built_anew(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    index.upsert(SPACE, [chunk("a", "one", (1, 0))])
    alias = alias_name(index_prefix, SPACE)
    engine.request("POST", f"/{index_name(alias)}/_close")
    builder = OpenSearchIndexBuilder(engine, index_prefix)
    builder.begin(SPACE)
    index.building.upsert(SPACE, [chunk("a", "one", (1, 0))])
    builder.put_live(SPACE)
    builder.finish(SPACE)
    assert list(read_indices(engine, index_prefix)) == [index_name(alias, 2)]


def test_j01_the_question_whether_ids_are_taken_writes_nothing(
    engine: SearchEngine, index_prefix: str
) -> None:
    refuse_serverless(engine, index_prefix)
    assert read_indices(engine, index_prefix) == {}


def test_text_in_any_script_goes_in_and_is_found(
    index: OpenSearchChunkIndex, search: OpenSearchChunkSearch
) -> None:
    words = ["知识库", "naïve", "c++", "🦉", '"quoted"', "back\\slash"]
    index.upsert(NO_VECTORS, [chunk("a", " ".join(words))])
    index.refresh(NO_VECTORS)
    for word in words:
        assert [hit.chunk_id for hit in search.search_text(scope(NO_VECTORS), [word], 9, 5)] == [
            "a"
        ], json.dumps(word)
        assert len(search.search_keywords(scope(NO_VECTORS), [word], 9, 5)) == 1


def test_what_a_hand_put_in_is_listed_however_strange_and_deleted_where_it_lies(
    engine: SearchEngine, index: OpenSearchChunkIndex, index_prefix: str
) -> None:
    index.upsert(SPACE, [chunk("a", "one", (1, 0), dataset="d", document=3, version=7)])
    alias = alias_name(index_prefix, SPACE)
    source = engine.request("GET", f"/{alias}/_doc/a")["_source"] | {"vector": [1, 0]}
    engine.request("PUT", f"/{alias}/_doc/copy", body=json.dumps(source))
    engine.request("PUT", f"/{alias}/_doc/bare", body=json.dumps({"chunk": "bare"}))
    del source["chunk"]
    engine.request("PUT", f"/{alias}/_doc/nameless", body=json.dumps(source))
    index.refresh(SPACE)
    own, copied, bare, nameless = (
        ListedChunk("a", "d", 3, 7),
        ListedChunk("a", "d", 3, 1, stored_as="copy"),
        ListedChunk("bare", "", 0, 1),
        ListedChunk("", "d", 3, 1, stored_as="nameless"),
    )
    listed = index.list_chunks(SPACE, None, None, 9)
    assert listed[0] == nameless
    assert sorted(listed, key=str) == sorted([own, copied, bare, nameless], key=str)
    assert set(index.list_chunks(SPACE, None, "a", 9)) == {own, copied, nameless}
    assert index.list_chunks(SPACE, "a", None, 9) == [bare]
    index.delete_seen(SPACE, [copied, bare, nameless])
    index.refresh(SPACE)
    assert index.list_chunks(SPACE, None, None, 9) == [own]
