from pathlib import Path

import numpy as np
import pytest

from local.artifacts import model_files
from shared.errors import ConfigurationError
from shared.models.onnx import OnnxModel


@pytest.fixture(scope="module")
def model() -> OnnxModel:
    return OnnxModel(model_files("ms-marco-MiniLM-L-12-v2").model.parent)


def test_a_pair_is_no_text_and_has_an_order(model: OnnxModel) -> None:
    question, passage = "how tall is the tower", "The tower is 300 metres tall."
    outputs = [
        model.run(question, passage),
        model.run(passage, question),
        model.run(f"{question} {passage}"),
    ]
    assert all(output.shape == (1,) for output in outputs)
    assert len({output.tobytes() for output in outputs}) == 3


def test_of_a_pair_that_is_too_long_the_longer_text_is_cut(model: OnnxModel) -> None:
    question = "how tall is the tower"
    long = "the tower is tall " * 300
    assert np.array_equal(model.run(question, long), model.run(question, long + "and red"))
    assert not np.array_equal(model.run(question, long), model.run(f"{question} now", long))


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_missing_files_are_named(tmp_path: Path, missing: str) -> None:
    for name in {"model.onnx", "tokenizer.json"} - {missing}:
        (tmp_path / name).touch()
    with pytest.raises(ConfigurationError, match=f"{missing} is missing"):
        OnnxModel(tmp_path)
