"""The page of relevance shows what was measured, and the default keeps what it promises."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench.relevance import BEGIN, END, PAGE, PLOT, write_plot, write_tables
from local.evaluation.methods import DEFAULT, METHODS

REPORTS: list[dict[str, Any]] = json.loads(PAGE.with_suffix(".json").read_text(encoding="utf-8"))
COLLECTIONS = ["cranfield", "chronoqa", "cmrc2018", "xquad-en", "xquad-zh"]


def find(collection: str, method: str) -> dict[str, Any]:
    [report] = [each for each in REPORTS if each["collection"] == collection]
    methods: dict[str, dict[str, Any]] = {each["method"]: each for each in report["methods"]}
    return methods[method]


def test_the_page_and_the_plot_are_made_of_the_figures() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0] == write_tables(REPORTS)
    assert PLOT.read_text(encoding="utf-8") == write_plot(REPORTS)


def test_the_plot_shows_every_interval() -> None:
    plot = ET.fromstring(PLOT.read_text(encoding="utf-8"))  # noqa: S314, our own
    intervals = sum(len(each["methods"]) - 1 for each in REPORTS)
    assert len(plot.findall("{http://www.w3.org/2000/svg}circle")) == intervals


def test_every_method_was_measured_on_every_collection() -> None:
    assert [each["collection"] for each in REPORTS] == COLLECTIONS
    for report in REPORTS:
        model = report["embedding"].partition(":")[2]
        wanted = {name for name, each in METHODS.items() if each.only_for in (None, model)}
        assert {each["method"] for each in report["methods"]} == wanted


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_the_default_is_not_below_a_channel_or_ranks(collection: str) -> None:
    for method in ("text", "vector", "rrf"):
        assert find(collection, method)["above_default"]["nDCG@10"]["low"] <= 0
    for method in ("bm25-0.7-0.3", "bm25-0.5-0.5"):
        assert find(collection, method)["above_default"]["nDCG@10"]["mean"] <= 0


def test_the_default_is_above_both_channels_and_ranks_on_cranfield() -> None:
    assert find("cranfield", DEFAULT)["nDCG@10"] >= 0.439
    for method in ("text", "vector", "rrf"):
        assert find("cranfield", method)["above_default"]["nDCG@10"]["high"] < 0
