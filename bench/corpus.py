"""Made-up chunks with vectors, the same in each run, kept where the home is."""

import time
from collections.abc import Iterator

import numpy as np

from bench.world import Sender, Words, make_dataset, unit
from shared.clients import connect_database
from shared.model import Dataset, Vector
from shared.postgres.datasets import list_datasets
from shared.postgres.engine import read
from shared.settings import DEFAULT_TENANT, Settings

CHUNKS_A_DOCUMENT = 500
WORDS_A_CHUNK = 80
"""As `Sender` makes them."""


def build(settings: Settings, chunks: int) -> Dataset:
    """Returns a dataset of so many chunks, ingested through the pipeline unless it is there."""
    engine, name = connect_database(settings), f"bench {chunks}"
    with read(engine) as connection:
        kept = list_datasets(connection, DEFAULT_TENANT)
    if kept:
        assert [(each.name, each.searchable_count * CHUNKS_A_DOCUMENT) for each in kept] == [
            (name, chunks)
        ], "this home keeps another corpus, or a part of one"
        return kept[0]
    dataset, sender = make_dataset(engine, name), Sender(settings, engine)
    begun = time.monotonic()
    for number in range(0, chunks, CHUNKS_A_DOCUMENT):
        few = min(CHUNKS_A_DOCUMENT, chunks - number)
        sender.send(dataset, f"{number}", f"document {number}", {"part": number % 10}, few)
    print(f"{chunks} chunks ingested in {time.monotonic() - begun:.1f} s")
    return dataset


def make_chunks(count: int) -> Iterator[tuple[str, Vector]]:
    """Yields the text and the vector of each of these chunks again, for other indices."""
    words, rng = Words(seed=1), np.random.default_rng(1)
    for _ in range(count):
        yield words.text(WORDS_A_CHUNK), unit(rng)
