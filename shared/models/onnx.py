"""Models of the BERT family on this machine: int8 ONNX, one input a call."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shared.errors import ConfigurationError

MAX_TOKENS = 512


class OnnxModel:
    """A model and its tokenizer, whose outputs repeat bit for bit.

    The scales of int8 activations are taken over a whole batch, so an output depends on what goes
    along with its input: every input is a call of its own. Calls in several threads, one core each,
    share the session; that is as repeatable, and faster than one call on all cores.

    Args:
        folder: holds model.onnx and tokenizer.json.

    Raises:
        ConfigurationError: a file is missing.
    """

    def __init__(self, folder: Path) -> None:
        import onnxruntime  # noqa: PLC0415, heavy, and no part of what is deployed
        from tokenizers import Tokenizer  # noqa: PLC0415

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

    def run(self, text: str, second: str | None = None) -> NDArray[Any]:
        """Returns the model's first output for a text, or for a pair of texts, without its batch.

        Of a text that is too long the end is cut off; of a pair, the longer one's first.
        """
        encoding = self._tokenizer.encode(text, second)
        inputs = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feeds = {name: np.array([ids], np.int64) for name, ids in inputs.items()}
        output: NDArray[Any] = self._session.run(None, feeds)[0][0]
        return output
