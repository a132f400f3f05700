import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from local.datasets import Embedding
from local.evaluation.asking import Answers
from local.evaluation.collection import Collection
from local.evaluation.measures import NAMES
from local.evaluation.methods import DEFAULT
from local.evaluation.report import Measured, describe, show

COLLECTION = Collection(
    name="set",
    digest="0" * 64,
    documents={"1": "one", "2": "two"},
    empty=["3"],
    queries={"a": "one?", "b": "two?"},
    grades={"a": {"1": 1}, "b": {"2": 1}},
    unknown_documents=0,
    unknown_queries=4,
)


def measured(method: str, *figures: float) -> Measured:
    answers = Answers({"a": ["1"], "b": []}, 12.5, 20.25)
    return Measured(method, dict.fromkeys(NAMES, np.array(figures)), answers)


def report(*methods: Measured, failed: Sequence[str] = ()) -> Any:
    reasons = dict.fromkeys(failed, "no vector")
    return describe(COLLECTION, Embedding("local", "m"), methods, reasons)


def test_each_method_is_compared_with_the_default_over_its_own_queries() -> None:
    found = report(
        measured(DEFAULT, 1.0, 0.5), measured("text", 0.5, 0.0), measured("rerank", 0.25)
    )
    assert json.loads(json.dumps(found)) == found
    default, text, rerank = found["methods"]
    assert default["nDCG@10"] == 0.75
    assert default["above_default"] is None
    assert text["above_default"]["nDCG@10"] == {"mean": -0.5, "low": -0.5, "high": -0.5}
    assert rerank["queries"] == 1
    assert rerank["above_default"]["nDCG@10"]["mean"] == -0.75


def test_without_the_default_there_is_nothing_to_compare_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = report(measured("text", 1.0, 0.0))
    show(found)
    out = capsys.readouterr().out
    assert "interval" not in out
    assert "HTTP" in out


def test_people_get_a_table_and_what_is_to_be_known(capsys: pytest.CaptureFixture[str]) -> None:
    show(report(measured(DEFAULT, 1.0, 0.5), measured("text", 0.5, 0.0), failed=["2"]))
    said = capsys.readouterr()
    assert "1 empty documents were left out." in said.out
    assert "4 judged queries are missing." in said.out
    assert "1 documents could not be ingested." in said.out
    assert "-0.5000 [-0.5000, -0.5000]" in said.out
    assert "95% interval" in said.out
    assert said.err == "2: no vector\n"
