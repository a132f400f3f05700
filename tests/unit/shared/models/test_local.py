"""The real models: what they say of texts is known well enough to be held to."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from local.artifacts import model_files
from shared.errors import ConfigurationError, EmbedderFailed
from shared.model import EmbeddingSpace, Vector
from shared.models.local import DIMENSIONS, LocalEmbedder

REFUND = "Refunds are paid within ten days after we receive the returned goods."
TURBINE = "The turbine blades are cooled by air bled from the compressor."
REFUND_ZH = "我们收到退货后十天内退款。"
TURBINE_ZH = "涡轮叶片由压气机引出的空气冷却。"


# Figures of these very weights; other pooling or no query prefix misses them.
ENGLISH_COSINES = [0.728, 0.395]
CHINESE_COSINES = [0.528, 0.232]


def load(name: str) -> LocalEmbedder:
    space = EmbeddingSpace("local", name, DIMENSIONS[name])
    return LocalEmbedder(space, model_files(name).model.parent)


@pytest.fixture(scope="module")
def english() -> LocalEmbedder:
    return load("bge-small-en-v1.5")


@pytest.fixture(scope="module")
def chinese() -> LocalEmbedder:
    return load("bge-small-zh-v1.5")


def test_a_passage_asked_for_beats_another_in_english(english: LocalEmbedder) -> None:
    passages = english.embed_passages([REFUND, TURBINE])
    query = english.embed_query("how long until I get my money back", 1)
    assert [query @ passage for passage in passages] == pytest.approx(ENGLISH_COSINES, abs=0.01)


def test_a_passage_asked_for_beats_another_in_chinese(chinese: LocalEmbedder) -> None:
    passages = chinese.embed_passages([REFUND_ZH, TURBINE_ZH])
    query = chinese.embed_query("多久能拿回钱", 1)
    assert [query @ passage for passage in passages] == pytest.approx(CHINESE_COSINES, abs=0.01)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_vectors_repeat_bit_for_bit_whatever_is_embedded_beside_them(name: str) -> None:
    texts = [f"{REFUND} {n} {REFUND_ZH}" * (n % 7 + 1) for n in range(24)]
    first, second = load(name), load(name)
    together = np.array(first.embed_passages(texts))
    alone = np.array([second.embed_passages([text])[0] for text in texts])
    with ThreadPoolExecutor(8) as callers:
        crowded = np.array(list(callers.map(lambda t: first.embed_passages([t])[0], texts)))
    assert digest(together) == digest(alone) == digest(crowded)


def test_many_texts_of_one_document_let_those_of_another_in_between(
    english: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed, begun, embedded = english._embed, threading.Event(), list[str]()

    def note(text: str) -> Vector:
        begun.set()
        embedded.append(text)
        return embed(text)

    monkeypatch.setattr(english, "_embed", note)
    with ThreadPoolExecutor(1) as callers:
        large = callers.submit(english.embed_passages, [f"{TURBINE} {n}" for n in range(200)])
        assert begun.wait(10)
        english.embed_passages([REFUND])
        assert len(large.result()) == 200
    assert embedded.index(REFUND) < 100


def digest(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> str:
    return hashlib.sha256(vectors.tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("bge-small-en-v1.5", "Represent this sentence for searching relevant passages: "),
        ("bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章："),
    ],
)
def test_queries_have_the_models_prefix_and_passages_none(name: str, prefix: str) -> None:
    embedder = load(name)
    text = "refund 退款"
    query = embedder.embed_query(text, 1)
    plain, prefixed = embedder.embed_passages([text, prefix + text])
    assert np.array_equal(query, prefixed)
    assert query @ plain < 0.99


def test_only_the_first_512_tokens_count(english: LocalEmbedder) -> None:
    head = "word " * 510  # and [CLS] and [SEP]
    exact, longer, shorter = english.embed_passages([head, head + TURBINE, "word " * 509])
    assert np.array_equal(exact, longer)
    assert not np.array_equal(exact, shorter)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", "😀", "\x07", "\u200b", "．" * 2000, "a" * 100_000], ids=len
)
def test_text_of_nearly_nothing_still_has_a_vector(english: LocalEmbedder, text: str) -> None:
    (vector,) = english.embed_passages([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_a_query_without_time_is_not_embedded(english: LocalEmbedder) -> None:
    with pytest.raises(EmbedderFailed, match="no time"):
        english.embed_query("q", 0)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.onnx is missing"):
        LocalEmbedder(EmbeddingSpace("local", "bge-small-en-v1.5", 384), tmp_path)
