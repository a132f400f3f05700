from typing import Any

import pytest

from shared.chunking import check_chunking, show_chunking
from shared.errors import InvalidRequest
from shared.model import Chunking, Strategy


def list_pointers(body: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as refused:
        check_chunking(body)
    return [problem.pointer for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("body", "chunking"),
    [
        ({}, Chunking(Strategy.HEADINGS, 400, 40)),
        ({"strategy": "headings", "delimiter": None}, Chunking(Strategy.HEADINGS, 400, 40)),
        ({"size": 1}, Chunking(Strategy.HEADINGS, 1, 0)),
        ({"size": 30}, Chunking(Strategy.HEADINGS, 30, 15)),
        ({"size": 4096, "overlap": 2048}, Chunking(Strategy.HEADINGS, 4096, 2048)),
        ({"size": 101, "overlap": 50}, Chunking(Strategy.HEADINGS, 101, 50)),
        ({"overlap": 0}, Chunking(Strategy.HEADINGS, 400, 0)),
        ({"strategy": "parent_child", "size": 100}, Chunking(Strategy.PARENT_CHILD, 100, 40)),
        ({"strategy": "question_answer"}, Chunking(Strategy.QUESTION_ANSWER, 400, 40)),
        ({"strategy": "general"}, Chunking(Strategy.GENERAL, 400, 40)),
        (
            {"strategy": "general", "delimiter": "\r\n#\r"},
            Chunking(Strategy.GENERAL, 400, 40, "\n#\n"),
        ),
        ({"strategy": "whole", "delimiter": None}, Chunking(Strategy.WHOLE)),
    ],
)
def test_good_values_are_taken(body: dict[str, Any], chunking: Chunking) -> None:
    assert check_chunking(body) == chunking


@pytest.mark.parametrize("overlap", [100, 150, 51, -1, 1.5, "10", None, True])
def test_m01_an_overlap_that_means_nothing_is_refused(overlap: Any) -> None:
    assert list_pointers({"size": 100, "overlap": overlap}) == ["/chunking/overlap"]


@pytest.mark.parametrize("size", [0, -1, 1.5, "100", 4097, True, None, 100.0, [], float("nan")])
def test_m01_a_size_that_means_nothing_is_refused(size: Any) -> None:
    assert list_pointers({"size": size}) == ["/chunking/size"]
    assert list_pointers({"size": size, "overlap": 10}) == ["/chunking/size"]


@pytest.mark.parametrize("strategy", ["paragraphs", "Whole", "", None, 1, ["headings"]])
def test_other_strategies_are_refused_naming_what_there_is(strategy: Any) -> None:
    with pytest.raises(InvalidRequest, match="/chunking/strategy: must be one of: headings, gen"):
        check_chunking({"strategy": strategy})


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"delimiter": "\n"}, ["/chunking/delimiter"]),
        ({"strategy": "parent_child", "delimiter": "\n"}, ["/chunking/delimiter"]),
        ({"strategy": "whole", "size": 10}, ["/chunking/size"]),
        ({"strategy": "whole", "overlap": 0}, ["/chunking/overlap"]),
    ],
)
def test_what_a_strategy_does_not_heed_is_refused(
    body: dict[str, Any], pointers: list[str]
) -> None:
    assert list_pointers(body) == pointers


@pytest.mark.parametrize("delimiter", ["", "x" * 101, 1, ["\n"]])
def test_a_delimiter_that_is_none_is_refused(delimiter: Any) -> None:
    assert list_pointers({"strategy": "general", "delimiter": delimiter}) == ["/chunking/delimiter"]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"size": 30}, {"strategy": "headings", "size": 30, "overlap": 15}),
        ({"strategy": "whole"}, {"strategy": "whole"}),
        (
            {"strategy": "general", "delimiter": "#"},
            {"strategy": "general", "size": 400, "overlap": 40, "delimiter": "#"},
        ),
    ],
)
def test_what_is_shown_can_be_sent(body: dict[str, Any], shown: dict[str, Any]) -> None:
    chunking = check_chunking(body)
    assert show_chunking(chunking) == shown
    assert check_chunking(shown) == chunking


@pytest.mark.parametrize("body", [None, [], "headings", 400, True])
def test_it_must_be_an_object(body: Any) -> None:
    assert list_pointers(body) == ["/chunking"]


def test_every_wrong_field_is_named_at_once() -> None:
    body = {"size": 0, "overlap": -1, "delimiter": "", "strategy": "x", "a/b~c": 1}
    assert list_pointers(body) == [
        "/chunking/a~1b~0c",
        "/chunking/strategy",
        "/chunking/size",
        "/chunking/overlap",
        "/chunking/delimiter",
    ]


def test_problems_are_named_where_the_value_stands() -> None:
    with pytest.raises(InvalidRequest, match="/defaults/chunking/size"):
        check_chunking({"size": 0}, "/defaults/chunking")
