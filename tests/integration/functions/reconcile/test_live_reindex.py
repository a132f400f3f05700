"""Reindex on both real engines, while queries and writes go on."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from functions.reconcile import window
from functions.reconcile.parts import Parts
from functions.reconcile.pipeline import reconcile
from functions.reconcile.reindex import reindex
from shared.content.folder import FolderContentStore
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.opensearch.client import SearchEngine, connect
from shared.opensearch.index import OpenSearchChunkIndex
from shared.opensearch.search import OpenSearchChunkSearch
from tests.fakes.queue import FakeChangeQueue
from tests.integration.app import App, build, near

QUERY_PAUSE = 0.05
DOCUMENTS = 60


@pytest.fixture
def search(opensearch_url: str) -> Iterator[SearchEngine]:
    engine = connect(opensearch_url, timeout=30)
    yield engine
    engine.close()


@pytest.fixture
def app(empty: Engine, search: SearchEngine, index_prefix: str, tmp_path: Path) -> Iterator[App]:
    made = build(
        empty,
        OpenSearchChunkIndex(search, index_prefix),
        OpenSearchChunkSearch(search, index_prefix),
        FolderContentStore(tmp_path),
        threads=8,
    )
    yield made
    made.retrieve_parts.searcher.pool.close()


def put(app: App, dataset: str, name: str, word: str) -> str:
    """Sends a document whose chunks say a word, and returns its id once queries find it."""
    chunks = [near(f"{word} in chunk {n} of {name}", 0.5) for n in range(5)]
    return str(app.put(dataset, name, *chunks, external_id=name)["id"])


class Background:
    """Does something again and again, in a thread, until it is over; keeps what it raised."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.pool = ThreadPoolExecutor(2)
        self.futures: list[Any] = []

    def start(self, act: Any) -> None:
        self.futures.append(self.pool.submit(act))

    def finish(self) -> list[Any]:
        self.over.set()
        results = [future.result(60) for future in self.futures]
        self.pool.shutdown()
        return results


def test_o11_no_query_fails_and_no_write_is_lost_while_the_index_is_built_anew(
    app: App, search: SearchEngine, index_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAGE", 50)
    dataset = app.dataset()
    for n in range(DOCUMENTS):
        put(app, dataset, f"old {n}", "lasting")
    background = Background()

    def ask() -> int:
        asked = 0
        while not background.over.wait(QUERY_PAUSE):
            for method in ("hybrid_search", "full_text_search", "semantic_search"):
                # 200, nothing degraded (which `retrieve` asserts), and never empty.
                assert len(app.titles(dataset, "lasting", search_method=method, top_k=5)) == 5
                asked += 1
        return asked

    written: dict[str, str] = {}

    def write() -> int:
        count = 0
        while not background.over.is_set():
            count += 1
            name = f"new {count % 7}"
            written[name] = f"word{count}"
            put(app, dataset, name, written[name])
            if count % 5 == 0:
                gone = put(app, dataset, "passing", f"passing{count}")
                assert app.delete(gone).status_code == 201
        return count

    background.start(ask)
    background.start(write)
    time.sleep(0.5)  # both are under way
    before = search.request("GET", f"/{index_prefix}*/_alias")
    reindex(app.engine, app.index, OpenSearchIndexBuilder(search, index_prefix))
    time.sleep(0.5)  # and go on
    asked, count = background.finish()
    assert asked > 10
    assert count > 3

    after = search.request("GET", f"/{index_prefix}*/_alias")
    (old,), (new,) = before, after
    assert (old[-6:], new[-6:]) == ("000001", "000002")
    assert list(after[new]["aliases"]) == list(before[old]["aliases"])
    for name, word in written.items():
        assert set(app.titles(dataset, word, search_method="full_text_search")) == {name}
    builder = OpenSearchIndexBuilder(search, index_prefix)
    parts = Parts(engine=app.engine, index=app.index, builder=builder, queue=FakeChangeQueue())
    report, _ = reconcile(parts, repairs=False)
    assert report.sum().differing == 0
    assert report.sum().chunks == 5 * (DOCUMENTS + len(written))
    assert report.leftovers == []


def test_o11_an_index_that_is_deleted_while_serving_is_made_again_whole(
    app: App, search: SearchEngine, index_prefix: str
) -> None:
    dataset = app.dataset()
    put(app, dataset, "a", "first")
    builder = OpenSearchIndexBuilder(search, index_prefix)
    reindex(app.engine, app.index, builder)  # so that the first name is not the one that is gone
    (made,) = search.request("GET", f"/{index_prefix}*").values()
    for name in search.request("GET", f"/{index_prefix}*/_alias"):
        search.request("DELETE", f"/{name}")
    put(app, dataset, "b", "second")
    (again,) = search.request("GET", f"/{index_prefix}*").values()
    assert again["mappings"] == made["mappings"]
    assert again["aliases"] == made["aliases"]
    assert app.titles(dataset, "first", search_method="full_text_search") == []
    parts = Parts(engine=app.engine, index=app.index, builder=builder, queue=FakeChangeQueue())
    assert reconcile(parts)[0].sum().missing == 5
    assert set(app.titles(dataset, "first", search_method="full_text_search")) == {"a"}
