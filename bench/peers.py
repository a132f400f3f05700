"""One hybrid query in process: Winnow beside its peers, on one engine, interleaved query by query.

    uv run --with-requirements bench/peers.txt python -m bench.peers
        [--chunks 10000] [--queries 200] [--seconds 5] [--home DIR] [--only NAME...]

Winnow's side is all but HTTP: the body's checks, datasets, a filter that lets everything pass, both
channels, kept keywords where K needs them, the texts, the answer's JSON. Peers filter nothing. The
engine is one with the plugin of OpenSearch's own hybrid query, which asks Winnow's own index.
Printed are p50 and p95 of each, and queries a second of 1, 4 and 16 callers.
"""

import argparse
import json
import random
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import contenders, frameworks
from bench.contenders import CALLERS, World
from bench.corpus import build
from bench.hybrid import add_hybrid
from bench.world import Words, running, unit
from functions.retrieve.app import answer
from functions.retrieve.contracts.native import RetrieveBody
from shared.fusion.fuse import KeywordScoring
from shared.model import Dataset, Vector
from shared.opensearch.mapping import alias_name
from shared.settings import DEFAULT_TENANT, Settings

WARM = 1000
"""Queries that only warm up: the engine compiles its code as it goes."""

EVERYTHING = {
    "mode": "manual",
    "conditions": [{"name": "part", "comparison_operator": "≥", "value": 0}],
}

type Ask = Callable[[str], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[])
    asked = parser.parse_args()
    add_hybrid(asked.home)
    with running(asked.home, "bench") as settings:
        dataset = build(settings, asked.chunks)
        words, rng = Words(seed=2), np.random.default_rng(2)
        questions = {words.text(8): unit(rng) for _ in range(asked.queries + WARM)}
        world = World(settings.opensearch_url, asked.chunks, questions, settings.retrieval_depth)
        peers = set_up(world, settings, dataset, questions, asked.only)
        times = measure(peers, list(questions))
        show(times)
        if asked.seconds:
            count(peers, list(questions), asked.seconds)


def set_up(
    world: World,
    settings: Settings,
    dataset: Dataset,
    questions: Mapping[str, Vector],
    only: Sequence[str],
) -> dict[str, Ask]:
    """Returns how each is asked; fills the indices that are not there yet."""
    index = alias_name(settings.index_prefix, dataset.space)
    makers: dict[str, Callable[[], Ask]] = {
        "two bare calls, depth 10": lambda: contenders.use_two_calls(world, 10),
        f"two bare calls, depth {world.depth}": lambda: contenders.use_two_calls(
            world, world.depth
        ),
        "Winnow": lambda: use_winnow(settings, dataset, questions, KeywordScoring.BM25),
        "Winnow, dify": lambda: use_winnow(settings, dataset, questions, KeywordScoring.DIFY),
        "OpenSearch hybrid": lambda: contenders.use_hybrid(world, index),
        "LangChain": lambda: frameworks.use_langchain(world),
        "Haystack": lambda: frameworks.use_haystack(world),
        "LlamaIndex": lambda: frameworks.use_llama_index(world),
        "Dify's arithmetic": lambda: contenders.use_dify(world),
    }
    chosen = {
        name: make
        for name, make in makers.items()
        if not only or any(name.startswith(each) for each in only)
    }
    return {name: make() for name, make in chosen.items()}


def use_winnow(
    settings: Settings,
    dataset: Dataset,
    questions: Mapping[str, Vector],
    scoring: KeywordScoring,
) -> Ask:
    from functions.retrieve.handler import build_parts  # noqa: PLC0415  it reads the settings

    parts = build_parts(settings)
    vectors = {text: vector.tolist() for text, vector in questions.items()}

    def ask(text: str) -> list[str]:
        sent = {
            "query": text,
            "dataset_ids": [dataset.id],
            "query_vector": vectors[text],
            "metadata_filtering": EVERYTHING,
            "fusion": {"keyword_scoring": scoring},
            "deadline_ms": 60_000,
        }
        got = json.loads(answer(RetrieveBody.model_validate(sent), DEFAULT_TENANT, parts))
        assert not got["degraded"], got["degraded"]
        return [record["content"] for record in got["records"]]

    return ask


def measure(peers: Mapping[str, Ask], texts: Sequence[str]) -> dict[str, list[float]]:
    """Returns milliseconds of each: query by query all in turn, in a drawn order.

    In a fixed one, who comes behind another of the same index would find its data warm.
    """
    times: dict[str, list[float]] = {name: [] for name in peers}
    draw = random.Random(3)
    for number, text in enumerate(texts):
        for name in draw.sample(list(peers), len(peers)):
            begun = time.perf_counter()
            found = peers[name](text)
            taken = (time.perf_counter() - begun) * 1000
            assert len(found) >= 2, f"{name} found nothing"
            if number >= WARM:
                times[name].append(taken)
    return times


def show(times: Mapping[str, list[float]]) -> None:
    first, *_ = times
    base = statistics.median(times[first])
    print(f"| | p50 | p95 | p50, {first} = 1 |\n|---|---|---|---|")
    for name, taken in times.items():
        half, most = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
        print(f"| {name} | {half:.1f} ms | {most:.1f} ms | {half / base:.2f} |", flush=True)


def count(peers: Mapping[str, Ask], texts: Sequence[str], seconds: float) -> None:
    """Prints how many queries a second each answers to several callers at once."""
    print("\n| queries a second | 1 caller | 4 callers | 16 callers |\n|---|---|---|---|")
    for name, ask in peers.items():
        rates = [count_one(ask, texts, callers, seconds) for callers in (1, 4, CALLERS)]
        print(f"| {name} | " + " | ".join(f"{rate:.0f}" for rate in rates) + " |", flush=True)


def count_one(ask: Ask, texts: Sequence[str], callers: int, seconds: float) -> float:
    done = [0] * callers
    begun = time.perf_counter()

    def call(own: int) -> None:
        while time.perf_counter() - begun < seconds:
            ask(texts[(own * 7 + done[own]) % len(texts)])
            done[own] += 1

    threads = [threading.Thread(target=call, args=(own,)) for own in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
