import pytest

from functions.retrieve.contracts.native import RetrieveBody
from local.evaluation.methods import DEFAULT, METHODS


@pytest.mark.parametrize("name", METHODS)
def test_a_request_of_each_method_is_one_that_the_api_takes(name: str) -> None:
    RetrieveBody.model_validate({"query": "q", "dataset_ids": ["d"], **METHODS[name].request})


def test_the_default_says_nothing() -> None:
    assert not METHODS[DEFAULT].request


def test_every_weight_is_measured_with_both_forms_of_k() -> None:
    weighted = {name for name in METHODS if name.startswith(("dify", "bm25"))}
    assert weighted == {
        "dify-0.7-0.3", "dify-0.5-0.5", "dify-0.3-0.7",
        "bm25-0.7-0.3", "bm25-0.5-0.5", "bm25-0.3-0.7",
    }  # fmt: skip
