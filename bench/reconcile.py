"""How much memory and time a reconcile of a million chunks takes, in both stores.

    uv run python -m bench.reconcile [--chunks 1000000]

Documents of a hundred chunks, made by PostgreSQL itself, and an index that agrees with it over all
of them, without vectors. Then processes of their own reconcile, as Lambda would with time for all
of it, and say how much memory they had at their peak: one finds that both agree; one that of a
hundred chunks the index lost one, holds one under another version, and one that nobody knows.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import batched

from sqlalchemy import Engine, text

from bench.ingest_memory import read_peak
from bench.world import make_dataset, running
from shared.clients import connect_database, connect_search
from shared.model import NO_VECTORS, IndexedChunk
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.engine import read, transaction
from shared.postgres.standings import Standing, list_standings
from shared.settings import DEFAULT_TENANT, Settings

A_DOCUMENT = 100
PAGE = 5_000
TORN_ONE_OF = 100
COUNTS = ("chunks", "indexed", "missing", "orphaned", "outdated", "left")


def main() -> None:
    """Fills both stores, reconciles them, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--handle", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.handle:
        handle()
        return
    with running(None, f"bench-{uuid.uuid4().hex[:8]}") as settings:
        os.environ |= {
            "WINNOW_QUEUE_URL": "http://127.0.0.1:9/nobody",  # there is nothing to send
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
        }
        measure(settings, asked.chunks)


def measure(settings: Settings, count: int) -> None:
    """Prints what the stores hold and what each process says of itself."""
    engine = connect_database(settings, timeout=600)
    index = OpenSearchChunkIndex(connect_search(settings), settings.index_prefix)
    begun = time.perf_counter()
    fill_postgres(engine, count)
    with ThreadPoolExecutor(4) as threads:
        for page in list_pages(engine):
            list(threads.map(partial(write, index), batched(page, PAGE // 4, strict=False)))
    index.refresh(NO_VECTORS)
    print(f"{count} chunks in both stores after {time.perf_counter() - begun:.0f} s", flush=True)
    print(f"in step: {reconcile_apart()}", flush=True)
    tear(engine, index)
    print(f"torn: {reconcile_apart()}", flush=True)
    print(f"once more: {reconcile_apart()}")


def fill_postgres(engine: Engine, count: int) -> None:
    """Writes documents and chunks that are live, as if ingest had done it."""
    dataset = make_dataset(engine, uuid.uuid4().hex, NO_VECTORS)
    with transaction(engine) as connection:
        values = {"tenant": DEFAULT_TENANT, "dataset": dataset.id, "each": A_DOCUMENT}
        connection.execute(_DOCUMENTS, values | {"documents": count // A_DOCUMENT})
        connection.execute(_CHUNKS, values)
        connection.execute(_MEMBERSHIPS)
    with engine.connect() as connection:
        connection.execute(text("VACUUM ANALYZE"))


def list_pages(engine: Engine) -> Iterator[Sequence[Standing]]:
    """Yields all chunks of PostgreSQL, by id."""
    after = None
    while True:
        with read(engine) as connection:
            page = list_standings(connection, NO_VECTORS, after, None, PAGE)
        if not page:
            return
        yield page
        after = page[-1].chunk_id


def write(index: OpenSearchChunkIndex, page: Sequence[Standing], version: int = 1) -> None:
    """Writes chunks of one word to the index."""
    chunks = [
        IndexedChunk(
            id=each.chunk_id,
            tenant_id=DEFAULT_TENANT,
            dataset_id=each.dataset_id,
            document_seq=each.document_seq,
            words="word",
            keywords=["word"],
            vector=None,
            index_version=version,
        )
        for each in page
    ]
    index.upsert(NO_VECTORS, chunks)


def tear(engine: Engine, index: OpenSearchChunkIndex) -> None:
    """Has the index lose chunks, hold as many in another version, and as many of nobody's."""
    rng = random.Random(1)
    for page in list_pages(engine):
        share = len(page) // TORN_ONE_OF
        drawn = rng.sample(page, 2 * share)
        index.delete(NO_VECTORS, [each.chunk_id for each in drawn[:share]], 2)
        write(index, drawn[share:], version=2)
        write(index, [each._replace(chunk_id=str(uuid.uuid4())) for each in drawn[:share]])
    index.refresh(NO_VECTORS)


def reconcile_apart() -> str:
    """Returns what the process that reconciles says of itself."""
    command = [sys.executable, "-m", "bench.reconcile", "--handle"]
    said = subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE).stdout
    return said.splitlines()[-1]  # after logs and metrics


class Unhurried:
    """The context of a call that has time for everything."""

    def get_remaining_time_in_millis(self) -> int:
        return 10**9


def handle() -> None:
    """Reconciles as Lambda would, and prints counts, seconds and the most memory there was."""
    from functions.reconcile.handler import lambda_handler  # noqa: PLC0415, of this process alone

    begun = time.perf_counter()
    answer = lambda_handler({}, Unhurried())  # type: ignore[arg-type]
    seconds, peak = time.perf_counter() - begun, read_peak()
    [tally] = answer["datasets"].values()
    counts = json.dumps({name: tally[name] for name in COUNTS})
    print(f"{peak:.0f} MB at the peak; {seconds:.0f} s; {counts}")


_DOCUMENTS = text(
    """
    INSERT INTO documents (id, tenant_id, dataset_id, name, uploader, version, live_version,
        index_version, indexing_status, filter_values, updated_at)
    SELECT md5('d' || n)::uuid, :tenant, :dataset, 'd' || n, 'bench', 1, 1, 1, 'completed', '{}',
        now()
    FROM generate_series(1, :documents) n
    """
)
_CHUNKS = text(
    """
    INSERT INTO chunks (id, document_id, text, heading, keywords, index_version)
    SELECT md5(d.id::text || n)::uuid, d.id, 'words of chunk ' || n || ' in ' || d.name, '', '', 1
    FROM documents d, generate_series(1, :each) n
    """
)
_MEMBERSHIPS = text(
    """
    INSERT INTO chunk_memberships (chunk_id, from_version, document_id, position)
    SELECT id, 1, document_id, 1 FROM chunks
    """
)


if __name__ == "__main__":
    main()
