"""What an allowlist costs: the search that it goes with, and the memory of the serving process."""

import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from pyroaring import BitMap
from sqlalchemy import Engine, select

from bench.million import broad, make_query
from bench.world import KEY, SPACE, WARM_UP, Service, Words, take_turns, unit
from functions.retrieve.prefilter import prefilter
from shared.analysis.analyzer import analyze
from shared.clients import connect_search
from shared.metadata.where import parse_where
from shared.model import AllDocuments, Dataset, SearchScope, TheseDocuments
from shared.opensearch import queries
from shared.opensearch.search import OpenSearchChunkSearch
from shared.postgres.engine import read
from shared.postgres.tables import chunks, documents
from shared.settings import DEFAULT_TENANT, Settings

TIMEOUT = 60.0
EVERYTHING = "document_name not empty"
NEARLY_EVERYTHING = "pages > 1"


def measure_searches(
    settings: Settings, engine: Engine, made: Sequence[Dataset], count: int, rounds: int
) -> None:
    """Prints the size of a request and its time, by vector and by words, for several allowlists."""
    search = OpenSearchChunkSearch(connect_search(settings), settings.index_prefix)
    scopes, depth = list_scopes(engine, made, count), settings.retrieval_depth
    words, rng = Words(seed=3), np.random.default_rng(3)
    asked = [(unit(rng), analyze(words.text(8))) for _ in range(rounds + WARM_UP)]

    def by_vector(scope: SearchScope) -> Callable[[], object]:
        turns = iter(asked)
        return lambda: search.search_vector(scope, next(turns)[0], depth, TIMEOUT)

    def by_words(scope: SearchScope) -> Callable[[], object]:
        turns = iter(asked)

        def send() -> object:
            vector, tokens = next(turns)
            return search.search_text(scope, tokens, depth, TIMEOUT, vector)

        return send

    vector_times = take_turns([by_vector(scope) for scope in scopes.values()], rounds)
    text_times = take_turns([by_words(scope) for scope in scopes.values()], rounds)
    print("\n| allowed | bytes | by vector, ms | ratio | by words, ms | ratio |")
    print("|---|---|---|---|---|---|")
    for (name, scope), one, other in zip(scopes.items(), vector_times, text_times, strict=True):
        size = len(json.dumps(queries.filter_scope(scope)))
        first = f"{one:.1f} | {one / vector_times[0]:.2f}"
        print(f"| {name} | {size:,} | {first} | {other:.1f} | {other / text_times[0]:.2f} |")


def list_scopes(engine: Engine, made: Sequence[Dataset], count: int) -> Mapping[str, SearchScope]:
    """Returns scopes by what they allow: those of filters, and some of numbers drawn by lot."""
    whole = scope_of([(dataset.id, AllDocuments()) for dataset in made])
    everything = find_scope(engine, made, EVERYTHING)
    assert everything == whole  # a filter that all pass is none
    scopes = {
        "no filter": whole,
        "all, by a filter": everything,
        "half, in the order of their numbers": find_scope(engine, made, broad(count)["`after`"]),
        "half, drawn": find_scope(engine, made, broad(count)["`is`, a text"]),
    }
    with read(engine) as connection:
        joined = select(documents.c.seq).join(chunks, chunks.c.document_id == documents.c.id)
        searched = BitMap(connection.scalars(joined))
        every = BitMap(connection.scalars(select(documents.c.seq)))
    rng = np.random.default_rng(3)
    for share in (0.9, 0.99):
        drawn = draw(rng, np.array(every), int(count * share))
        scopes[f"{share:.0%}, drawn"] = listing(made, drawn)
        scopes[f"{share:.0%}, as all but the others"] = scope_of(whole.datasets, every - drawn)
    for many in (count // 2, count):
        drawn = draw(rng, 2**31 - 1, many)
        # With all that have chunks: an allowlist of which nothing can be found is quick.
        scopes[f"{many:,} numbers drawn of 2³¹"] = listing(made, drawn | searched)
    return scopes


def find_scope(engine: Engine, made: Sequence[Dataset], where: str) -> SearchScope:
    """Returns the scope of a filter."""
    [scope] = prefilter(make_query(made, where), engine, TIMEOUT).scopes
    return scope


def scope_of(
    allowed: Sequence[tuple[str, AllDocuments | TheseDocuments]], hidden: BitMap | None = None
) -> SearchScope:
    """Returns a scope of the benchmarks' space."""
    return SearchScope(DEFAULT_TENANT, SPACE, allowed, hidden or BitMap())


def listing(made: Sequence[Dataset], seqs: BitMap) -> SearchScope:
    """Returns the scope of an allowlist."""
    return scope_of([(dataset.id, TheseDocuments(seqs)) for dataset in made])


def draw(rng: np.random.Generator, numbers: Any, many: int) -> BitMap:
    """Returns so many of the numbers, or of those below one."""
    return BitMap(rng.choice(numbers, many, replace=False, shuffle=False).astype(np.uint32))


def measure_memory(service: Service, made: Sequence[Dataset], count: int) -> None:
    """Prints the most memory that a serving process has taken after each of the broad filters."""
    http = HTTPConnection(urlsplit(service.url).netloc)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    ids = [dataset.id for dataset in made]
    words, rng = Words(seed=4), np.random.default_rng(4)
    filters = {**broad(count), "all": EVERYTHING, "nearly all": NEARLY_EVERYTHING}

    def ask(where: str | None) -> Any:
        body = {"query": words.text(8), "query_vector": unit(rng).tolist(), "dataset_ids": ids}
        if where is not None:
            body["metadata_filtering"] = {"mode": "manual", **parse_where(where)}
        sent = json.dumps(body | {"deadline_ms": 60_000})
        http.request("POST", "/v1/retrieve", body=sent, headers=headers)
        answer = http.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200, told
        assert not told["degraded"], told
        return told

    ask(None)
    print("\n| asked over HTTP | passed | answer, ms | most memory so far, MB |")
    print("|---|---|---|---|")
    for name, where in {"no filter": None, **filters}.items():
        told = [ask(where) for _ in range(5)]
        passed = (told[0]["applied_filter"] or {}).get("matched_documents", "")
        taken = statistics.median(each["timings_ms"]["total"] for each in told)
        print(f"| {name} | {passed} | {taken:.0f} | {read_peak(service.pid):.0f} |", flush=True)


def read_peak(pid: int) -> float:
    """Returns the most memory that a process has ever taken, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
