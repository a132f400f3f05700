"""Embeddings on this machine: BGE small, English and Chinese, int8 ONNX."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from shared.errors import ConfigurationError, EmbedderFailed
from shared.model import EmbeddingSpace, Vector
from shared.models.vectors import unit

DIMENSIONS = {"bge-small-en-v1.5": 384, "bge-small-zh-v1.5": 512}
QUERY_PREFIXES = {
    "bge-small-en-v1.5": "Represent this sentence for searching relevant passages: ",
    "bge-small-zh-v1.5": "为这个句子生成表示以用于检索相关文章：",
}
MAX_TOKENS = 512


class LocalEmbedder:
    """An `Embedder` whose vectors repeat bit for bit.

    The scales of int8 activations are taken over a whole batch, so a text's vector depends on what
    is embedded with it: every text is a call of its own. Calls in several threads, one core each,
    share the session; that is as repeatable, and faster than one call on all cores.

    Args:
        folder: holds model.onnx and tokenizer.json.

    Raises:
        ConfigurationError: a file is missing.
    """

    def __init__(self, space: EmbeddingSpace, folder: Path) -> None:
        import onnxruntime  # noqa: PLC0415, heavy, and no part of what is deployed
        from tokenizers import Tokenizer  # noqa: PLC0415

        self._space = space
        model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
        for file in (model, tokenizer):
            if not file.is_file():
                raise ConfigurationError(f"the model file {file} is missing")
        self._tokenizer = Tokenizer.from_str(tokenizer.read_text(encoding="utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._calls = ThreadPoolExecutor(os.process_cpu_count(), thread_name_prefix="embed")

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in."""
        return self._space

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Returns one unit vector a text; tokens after the first 512 count nothing."""
        return list(self._calls.map(self._embed, texts))

    def embed_query(self, text: str, timeout: float) -> Vector:
        """Returns the query's unit vector; a call takes milliseconds and is never cut short."""
        if timeout <= 0:
            raise EmbedderFailed("no time was left to embed the query")
        return self._embed(QUERY_PREFIXES[self._space.model] + text)

    def _embed(self, text: str) -> Vector:
        encoding = self._tokenizer.encode(text)
        inputs = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feeds = {name: np.array([ids], np.int64) for name, ids in inputs.items()}
        hidden = self._session.run(None, feeds)[0]  # (1, tokens, dimension)
        return unit(hidden[0, 0])
