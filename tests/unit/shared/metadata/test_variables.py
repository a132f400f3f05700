"""Filling `{{name}}` from the inputs."""

from typing import Any

import pytest

from shared.errors import InvalidRequest
from shared.metadata.variables import fill_conditions, fill_variables

INPUTS = {
    "uid": "u-7",
    "n": 7,
    "f": 1e-7,
    "yes": True,
    "langs": ["en", 5, False],
    "sly": "{{uid}} {{n}}",
    "nothing": None,
    "object": {"a": 1},
    "with space": "ok",
    "infinite": float("inf"),
    "nested": ["x", [None]],
}


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{{uid}}", "u-7"),
        ("{{ uid }}", "u-7"),
        ("{{with space}}", "ok"),
        ("{{n}}", 7),
        ("{{yes}}", True),
        ("{{langs}}", ["en", 5, False]),
        ("{{nothing}}", None),
        ("{{object}}", {"a": 1}),
        (" {{n}}", " 7"),
        ("{{n}}{{n}}", "77"),
        ("v{{f}}", "v0.0000001"),
        ("is {{yes}}", "is true"),
        ("xx, {{langs}}", "xx, en, 5, false"),
        ("{{sly}}", "{{uid}} {{n}}"),
        ("<{{sly}}>", "<{{uid}} {{n}}>"),
        ("{{{uid}}}", "{u-7}"),
        ("{uid} {{}} {{ }} {{a}b}} {{", "{uid} {{}} {{ }} {{a}b}} {{"),
        ("{{}a}} {{ }a}} {{a{b}} {{ {a}}", "{{}a}} {{ }a}} {{a{b}} {{ {a}}"),
        ("{{a{{n}} {{{{n}}", "{{a7 {{7"),
        (["{{uid}}", "x{{n}}", "{{n}}", 3, None], ["u-7", "x7", 7, 3, None]),
        (("{{n}}",), [7]),
        ([["{{unknown}}"]], [["{{unknown}}"]]),
        (5, 5),
        (None, None),
    ],
)
def test_fills(value: Any, filled: Any) -> None:
    found = fill_variables(value, INPUTS, "/value")
    assert found == filled
    assert type(found) is type(filled)


@pytest.mark.parametrize(
    ("value", "pointer", "named"),
    [
        ("{{missing}}", "/value", "missing"),
        ("a {{missing}} b", "/value", "missing"),
        (["en", "{{missing}}"], "/value/1", "missing"),
        ("{{UID}}", "/value", "UID"),
        ("{{\x1fuid}}", "/value", "\x1fuid"),
        ("a {{nothing}}", "/value", "nothing"),
        ("a {{object}}", "/value", "object"),
        ("a {{infinite}}", "/value", "infinite"),
        ("a {{nested}}", "/value", "nested"),
    ],
)
def test_refuses(value: Any, pointer: str, named: str) -> None:
    with pytest.raises(InvalidRequest, match=f'"{named}"') as refusal:
        fill_variables(value, INPUTS, pointer="/value")
    assert [problem.pointer for problem in refusal.value.problems] == [pointer]


@pytest.mark.parametrize(("start", "unit"), [("{{", "a"), ("{{", " "), ("", "{{a}"), ("", "{{")])
def test_a_placeholder_without_an_end_is_plain_text_however_long(start: str, unit: str) -> None:
    text = start + unit * 250_000
    assert fill_variables(text, INPUTS, "/value") == text


def test_conditions_are_filled_wherever_they_stand_and_else_left_as_they_were_sent() -> None:
    sent: list[dict[str, Any]] = [
        {"name": "lang", "comparison_operator": "is", "value": "{{lang}}"},
        {"name": "note", "comparison_operator": "empty"},
        {"logical_operator": "not", "conditions": [{"name": "tags", "value": ["x", "{{lang}}"]}]},
    ]
    filled = fill_conditions(sent, {"lang": "{{other}}"}, "")
    assert filled == [
        {"name": "lang", "comparison_operator": "is", "value": "{{other}}"},
        {"name": "note", "comparison_operator": "empty"},
        {"logical_operator": "not", "conditions": [{"name": "tags", "value": ["x", "{{other}}"]}]},
    ]
    assert sent[0]["value"] == "{{lang}}"
