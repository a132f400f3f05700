"""Reranking on this machine: ms-marco-MiniLM-L-12-v2, a cross-encoder that reads English alone."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shared.errors import RerankerFailed
from shared.models.onnx import OnnxModel
from shared.models.scores import hold_score, logistic

MODEL = "ms-marco-MiniLM-L-12-v2"

MOST_PASSAGES = 20
"""Those of 400 tokens take 2.1 s of processor time: two cores have them in the usual deadline."""

MOST_CHARACTERS = 8_000
"""Of a text; far more than the model's 512 tokens have, and quickly cut."""

LEAST_READABLE = 0.9
"""Of a text's letters; an English text may hold a foreign name."""

_LATIN_ENDS = "\u024f"


class LocalReranker:
    """A `Reranker` whose scores repeat bit for bit, whatever is scored beside a passage.

    The model is loaded at the first call, so that whoever makes a reranker does not wait for it.

    Args:
        folder: holds model.onnx and tokenizer.json.
    """

    most_passages = MOST_PASSAGES

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: OnnxModel | None = None
        self._loading = threading.Lock()
        self._calls = ThreadPoolExecutor(os.process_cpu_count(), thread_name_prefix="rerank")

    def rerank(self, query: str, passages: Sequence[str], timeout: float) -> Sequence[float]:
        """Returns the score of each passage; of query and passage count the first 512 tokens.

        Raises:
            RerankerFailed: there was not enough time, or this is no English: what the model makes
                of other scripts is noise, as high for a wrong passage as for a right one.
            ConfigurationError: a file of the model is missing.
        """
        deadline = time.monotonic() + timeout
        _check_script(query, passages)
        head, model = query[:MOST_CHARACTERS], self._load()

        def score(passage: str) -> float:
            if time.monotonic() >= deadline:
                raise RerankerFailed("no time was left to score every passage")
            logit = float(model.run(head, passage[:MOST_CHARACTERS])[0])
            return hold_score(MODEL, logistic(logit))

        return list(self._calls.map(score, passages))

    def _load(self) -> OnnxModel:
        with self._loading:
            if self._loaded is None:
                self._loaded = OnnxModel(self._folder)
            return self._loaded


def reads(text: str) -> bool:
    """Tells whether nearly all letters of a text are Latin."""
    letters = [each for each in text if each.isalpha()]
    latin = sum(each <= _LATIN_ENDS for each in letters)
    return latin >= LEAST_READABLE * len(letters)


def _check_script(query: str, passages: Sequence[str]) -> None:
    readable = sum(map(reads, passages))
    if reads(query) and 2 * readable >= len(passages):
        return
    which = "most passages are" if reads(query) else "this query is"
    raise RerankerFailed(
        f"{MODEL} reads English alone, and {which} in another script, of which its scores say "
        "nothing"
    )
