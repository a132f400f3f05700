"""Whether the segmenter cuts as jieba does, and how fast: `python -m bench.cuts COLLECTION...`.

Each folder holds docs.jsonl, queries.jsonl and qrels.tsv, each maybe gzipped. Every document and
judged query is cut both ways the product needs, by jieba 0.42.1 and by the segmenter in turns. Ends
with 1 where a single cut differs.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from local.evaluation.collection import read_collection
from shared.analysis.segmenter import cut, cut_for_search
from tests.unit.shared.analysis import oracle

_WAYS: tuple[tuple[Callable[[str], Iterable[Any]], Callable[[str], Iterable[Any]]], ...] = (
    (oracle.cut, cut),
    (oracle.cut_for_search, cut_for_search),
)


def main() -> None:
    """Prints one row a collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    folders = parser.parse_args().collections
    for _, ours in _WAYS:
        list(ours("知识库"))  # loads what is loaded once
    oracle.load_jieba()
    print("| collection | texts | characters | cut otherwise | jieba s | segmenter s |")
    print("|---|---|---|---|---|---|")
    sys.exit(1 if sum(_compare(folder) for folder in folders) else 0)


def _compare(folder: Path) -> int:
    collection = read_collection(folder)
    texts = [*collection.documents.values(), *collection.queries.values()]
    jieba = segmenter = 0.0
    different = 0
    for text in texts:
        for theirs, ours in _WAYS:
            expected, took = _time(theirs, text)
            jieba += took
            found, took = _time(ours, text)
            segmenter += took
            different += found != expected
    row = (collection.name, len(texts), sum(map(len, texts)), different)
    print(f"| {' | '.join(map(str, row))} | {jieba:.1f} | {segmenter:.1f} |", flush=True)
    return different


def _time(cut_text: Callable[[str], Iterable[Any]], text: str) -> tuple[list[Any], float]:
    begun = time.perf_counter()
    found = list(cut_text(text))
    return found, time.perf_counter() - begun


if __name__ == "__main__":
    main()
