from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from local.evaluation.vectors import BATCH, KeptVectors, Role
from shared.model import EmbeddingSpace, Vector


class Counting:
    """An embedder that knows what it was asked, and breaks at a text."""

    def __init__(self, model: str = "m", breaks_at: str | None = None) -> None:
        self.space = EmbeddingSpace("local", model, 2)
        self.asked: list[str] = []
        self.breaks_at = breaks_at

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.breaks_at in texts:
            raise KeyboardInterrupt
        self.asked += texts
        return [np.array([len(text), 1], np.float32) for text in texts]

    def embed_query(self, text: str, timeout: float) -> Vector:
        assert timeout > 0
        self.asked.append(text)
        return np.array([len(text), -1], np.float32)


def forget(_done: int) -> None: ...


def test_no_text_is_embedded_twice(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    with KeptVectors(tmp_path, first) as vectors:
        vectors.fill(Role.PASSAGE, ["a", "bb", "a"], forget)
    assert first.asked == ["a", "bb"]
    with KeptVectors(tmp_path, second) as vectors:
        vectors.fill(Role.PASSAGE, ["ccc", "bb", "a"], forget)
        assert vectors.find(Role.PASSAGE, "bb").tolist() == [2, 1]
    assert second.asked == ["ccc"]


def test_a_query_and_a_passage_of_the_same_words_are_two(tmp_path: Path) -> None:
    with KeptVectors(tmp_path, Counting()) as vectors:
        vectors.fill(Role.PASSAGE, ["a"], forget)
        with pytest.raises(KeyError):
            vectors.find(Role.QUERY, "a")
        vectors.fill(Role.QUERY, ["a"], forget)
        assert vectors.find(Role.QUERY, "a").tolist() == [1, -1]


def test_each_space_has_its_own(tmp_path: Path) -> None:
    with KeptVectors(tmp_path, Counting("m")) as vectors:
        vectors.fill(Role.PASSAGE, ["a"], forget)
    other = Counting("n")
    with KeptVectors(tmp_path, other) as vectors:
        vectors.fill(Role.PASSAGE, ["a"], forget)
    assert other.asked == ["a"]


def test_a_run_that_is_broken_off_is_taken_up_again(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(3 * BATCH)]
    done: list[int] = []
    with (
        KeptVectors(tmp_path, Counting(breaks_at=texts[-1])) as vectors,
        pytest.raises(KeyboardInterrupt),
    ):
        vectors.fill(Role.PASSAGE, texts, done.append)
    assert done == [BATCH, BATCH]
    again = Counting()
    with KeptVectors(tmp_path, again) as vectors:
        vectors.fill(Role.PASSAGE, texts, done.append)
    assert again.asked == texts[2 * BATCH :]
