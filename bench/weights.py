"""Rules for the weights of V and K on judged collections, and what leaving one out says of them.

    python -m bench.weights --home HOME DIR...

asks no engine: V is the cosine of the vectors that `winnow eval` left in the home, K is BM25 as the
engine counts it, and the candidates are the best 100 of each.
"""

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from local.datasets import Embedding
from local.evaluation.collection import Collection, read_collection
from local.evaluation.measures import CUT
from local.evaluation.vectors import KeptVectors, Role
from local.languages import choose_model
from local.models import open_embedder
from shared.analysis.analyzer import analyze
from shared.fusion.balance import HEAD, NOISE, balance_weights
from shared.opensearch.scores import K1, B, inverse_document_frequency

type Figures = NDArray[np.float64]
type Rule = Callable[["Candidates"], Figures]
"""The weight of V for each query, shape (queries, 1)."""

DEPTH, QUERIES = 100, 1_500
RATIO = 0.7 / 0.3
DISCOUNTS = 1 / np.log2(np.arange(2, CUT + 2))


@dataclass(frozen=True)
class Candidates:
    """Figures of shape (queries, candidates), NaN where a query has fewer; `ideal` (queries,)."""

    vector: Figures
    keyword: Figures
    gain: Figures
    ideal: Figures

    def measure(self, weight: Figures | float) -> float:
        """Returns the mean nDCG@10 with these weights of V."""
        scores = weight * self.vector + (1 - weight) * self.keyword
        best = np.argsort(-np.nan_to_num(scores, nan=-9.0), axis=1, kind="stable")[:, :CUT]
        found = (np.take_along_axis(self.gain, best, 1) * DISCOUNTS).sum(1)
        return float((found / np.maximum(self.ideal, DISCOUNTS[-1])).mean())


def load(folder: Path, home: Path) -> Candidates:
    collection = read_collection(folder, QUERIES)
    model = Embedding("local", choose_model(collection.documents.values()))
    with KeptVectors(home / "evaluation", open_embedder(model)) as kept:
        passages, queries = collection.documents.values(), collection.queries.values()
        for role, texts in ((Role.PASSAGE, passages), (Role.QUERY, queries)):
            kept.fill(role, texts, lambda _: None)
        documents = np.array([kept.find(Role.PASSAGE, text) for text in passages], np.float64)
        cosines = [documents @ kept.find(Role.QUERY, query) for query in queries]
    return gather(collection, cosines, count_bm25(collection))


def count_bm25(collection: Collection) -> list[Figures]:
    """Returns K in its bm25 form, for each query one of shape (documents,)."""
    counts = [Counter(analyze(text)) for text in collection.documents.values()]
    lengths = np.array([each.total() for each in counts])
    damping = K1 * (1 - B + B * np.array([_as_kept(n) for n in lengths.tolist()]) / lengths.mean())
    postings: dict[str, dict[int, int]] = defaultdict(dict)
    for place, each in enumerate(counts):
        for word, often in each.items():
            postings[word][place] = often

    def score(query: str) -> Figures:
        words = Counter(analyze(query))
        found = {word: postings.get(word, {}) for word in words}
        idf = {word: inverse_document_frequency(len(counts), len(found[word])) for word in words}
        total = np.zeros(len(counts))
        for word, times in words.items():
            places, often = np.array([*found[word]], int), np.array([*found[word].values()])
            total[places] += times * idf[word] * often / (often + damping[places])
        return total / max(math.fsum(times * idf[word] for word, times in words.items()), 1e-9)

    return [score(query) for query in collection.queries.values()]


def _as_kept(length: int) -> int:
    """Returns a text's length as Lucene keeps it, in a byte: above 40 by four significant bits."""
    free = 24
    bits = (length - free).bit_length() - 4
    return length if length < free or bits <= 0 else free + ((length - free) >> bits << bits)


def gather(
    collection: Collection, cosines: Sequence[Figures], scores: Sequence[Figures]
) -> Candidates:
    shape = (len(cosines), 2 * DEPTH)
    vector, keyword, gain = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    ideal = np.zeros(len(cosines))
    ids = list(collection.documents)
    for row, (v, k, grades) in enumerate(
        zip(cosines, scores, collection.grades.values(), strict=True)
    ):
        texts = [place for place in np.argsort(-k, kind="stable")[:DEPTH] if k[place] > 0]
        found = sorted({*np.argsort(-v, kind="stable")[:DEPTH], *texts})
        vector[row, : len(found)], keyword[row, : len(found)] = v[found], k[found]
        gain[row, : len(found)] = [max(0, grades.get(ids[place], 0)) for place in found]
        best = sorted((max(0, grade) for grade in grades.values()), reverse=True)[:CUT]
        ideal[row] = np.dot(best, DISCOUNTS[: len(best)])
    return Candidates(vector, keyword, gain, ideal)


def spread(ratio: float) -> Rule:
    """Weights that give V and K the same standard deviation, times a ratio."""

    def weigh(found: Candidates) -> Figures:
        v, k = (np.nanstd(each, 1, keepdims=True) + 1e-9 for each in (found.vector, found.keyword))
        return ratio / v / (ratio / v + 1 / k)

    return weigh


def cover(slope: float) -> Rule:
    """K counts by how much of the query its best hit covers."""
    return lambda found: 1 - np.clip(slope * np.nanmax(found.keyword, 1, keepdims=True), 0, 1)


def separate(head: int, noise: float, ratio: float = RATIO) -> Rule:
    """The product's rule, with its constants to choose."""

    def of(scores: Figures) -> Figures:
        best = -np.sort(-np.nan_to_num(scores, nan=-9.0), axis=1)[:, :head]
        distance = best.mean(1) - np.nanmean(scores, 1)
        quotient: Figures = (distance / (np.nanvar(scores, 1) + noise**2))[:, None]
        return quotient

    def weigh(found: Candidates) -> Figures:
        v, k = ratio * of(found.vector), of(found.keyword)
        return v / (v + k)

    return weigh


def balance(found: Candidates) -> Figures:
    """The product's own."""
    rows = zip(found.vector, found.keyword, strict=True)
    known = [(v[~np.isnan(v)], k[~np.isnan(k)]) for v, k in rows]
    return np.array([[balance_weights(v, k).vector] for v, k in known])


def fix(weight: float) -> Rule:
    return lambda found: np.full((len(found.ideal), 1), weight)


FAMILIES: Mapping[str, Mapping[str, Rule]] = {
    "fixed": {f"fixed {w:.1f}": fix(w) for w in np.arange(0.3, 0.85, 0.1)},
    "spread": {f"spread, ratio {r:.2f}": spread(r) for r in (1.0, 1.5, 2.0, RATIO)},
    "coverage": {f"coverage, slope {s}": cover(s) for s in (0.5, 1.0, 1.5, 2.0)},
    "separation": {
        f"separation, best {h}, noise {n}": separate(h, n)
        for h, n in product((1, 2, 3, 5, 10), (0.0, 0.005, 0.01, 0.02))
    },
    "separation, any ratio": {
        f"separation, best {h}, noise {n}, ratio {r:.2f}": separate(h, n, r)
        for h, n, r in product((1, 3, 10), (0.0, 0.01), (1.0, 1.5, 2.0, RATIO, 3.0))
    },
    "product": {f"the product's: best {HEAD}, noise {NOISE}": balance},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--home", required=True, type=Path)
    given = parser.parse_args()
    names = [folder.name for folder in given.folders]
    found = []
    for folder in given.folders:
        print(f"Reading {folder.name} ...", file=sys.stderr)
        found.append(load(folder, given.home))
    goal = np.array([max(each.measure(0.5), each.measure(0.7)) for each in found])
    show("", names, "least above")
    show("the better of 0.5 and 0.7", goal)
    for family, rules in FAMILIES.items():
        figures = {
            name: np.array([each.measure(rule(each)) for each in found])
            for name, rule in rules.items()
        }
        for name, each in figures.items():
            show(name, each, f"{(each - goal).min():+.4f}")
        if len(rules) > 1 and len(found) > 1:
            show(f"{family}, chosen without it", leave_out(figures, goal), "held out")


def leave_out(figures: Mapping[str, Figures], goal: Figures) -> Figures:
    """Returns what each collection gets by the rule that falls short least on the others."""
    every = np.array(list(figures.values()))
    short = np.minimum(every - goal, 0)
    gained = every.sum(1, keepdims=True) - every
    lost = short.sum(1, keepdims=True) - short
    chosen = np.argmax(lost + gained / 1_000, axis=0)
    return every[chosen, np.arange(len(goal))]


def show(name: str, figures: Any, more: str = "") -> None:
    cells = [each if isinstance(each, str) else f"{each:.4f}" for each in figures]
    print(f"{name:44}", *(f"{cell[:9]:>9}" for cell in cells), more, sep="  ", flush=True)


if __name__ == "__main__":
    main()
