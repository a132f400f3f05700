import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.metadata.chat_answer import MOST_CHARACTERS, AnswerUnreadable, read_answer

TRIPLE = {
    "metadata_field_name": "lang",
    "metadata_field_value": "en",
    "comparison_operator": "is",
}
OTHER = TRIPLE | {"metadata_field_value": "zh"}
PLAIN = json.dumps({"metadata_map": [TRIPLE]})


@pytest.mark.parametrize(
    "answer",
    [
        PLAIN,
        f"  \n{PLAIN}\n",
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}\n```\nHope that helps [1]!",
        f"Here are the conditions {{as asked}}:\n\n```json\n{PLAIN}\n```",
        f"好的，条件如下：{PLAIN}",
        f"<think>Maybe {{'a': 1}} or {json.dumps({'metadata_map': [OTHER]})}?</think>\n{PLAIN}",
        f"\n<think>{json.dumps([OTHER])}</think>\n{PLAIN}",
        f"<think>Short.</think>{PLAIN}</think>",
        f"{PLAIN}\n\nAgain:\n{PLAIN}",
        json.dumps({"conditions": [TRIPLE]}),
        json.dumps({"metadata_map": TRIPLE}),
        json.dumps([TRIPLE]),
        json.dumps([{"metadata_map": [TRIPLE]}]),
        json.dumps(TRIPLE),
        json.dumps(TRIPLE, indent=2),
        json.dumps({"metadata_map": [TRIPLE]}, indent=2),
        '{"metadata_map": [' + json.dumps(TRIPLE)[:-1] + ",},],}",
    ],
)
def test_c04_an_answer_is_read_out_of_what_stands_around_it(answer: str) -> None:
    assert read_answer(answer) == [TRIPLE]


def test_a_condition_alone_may_have_the_words_of_manual_mode() -> None:
    written = {"name": "lang", "comparison_operator": "empty"}
    assert read_answer(json.dumps(written)) == [written]


def test_c04_a_bracket_that_begins_no_json_is_passed_by_alone() -> None:
    assert read_answer("{" + json.dumps([TRIPLE, OTHER])) == [TRIPLE, OTHER]
    assert read_answer("{" + json.dumps([TRIPLE, OTHER], indent=2)) == [TRIPLE, OTHER]


def test_an_object_in_a_list_is_for_others_to_judge_alone_or_not() -> None:
    assert read_answer('[{"field": "lang"}]') == [{"field": "lang"}]
    assert read_answer('[{"field": "lang"}, {}]') == [{"field": "lang"}, {}]


def test_an_answer_has_fifty_thousand_characters_at_most() -> None:
    assert read_answer(PLAIN.ljust(50_000)) == [TRIPLE]
    with pytest.raises(AnswerUnreadable, match="more than 50,000 characters"):
        read_answer(PLAIN.ljust(50_001))


def test_an_answer_has_sixteen_levels_at_most() -> None:
    def nest(levels: int) -> str:
        return f'[{{"name": {"[" * levels}{"]" * levels}}}]'

    assert len(read_answer(nest(14))) == 1
    with pytest.raises(AnswerUnreadable, match="deeper than 16 levels"):
        read_answer(nest(15))


@pytest.mark.parametrize("answer", ['{"metadata_map": []}', "```json\n[]\n```"])
def test_no_conditions_are_an_answer_too(answer: str) -> None:
    assert read_answer(answer) == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "There is nothing to filter by.",
        "{}",
        '{"filters": []}',
        '{"result": ' + PLAIN + "}",
        '{"metadata_map": null}',
        '{"metadata_map": "lang is en"}',
        "[1, 2, 3]",
        "{'metadata_map': [{'metadata_field_name': 'lang'}]}",
        '{"metadata_map": [{"metadata_field_name": "n", "metadata_field_value": NaN}]}',
        '{"metadata_map": [{"metadata_field_name": "n", "metadata_field_value": 1e999}]}',
        '{"metadata_map": [{"metadata_field_name": "n", "metadata_field_value": "\\ud800"}]}',
        '{"metadata_map": [{"metadata_field_name": "a\\u0000"}]}',
        '{"metadata_map": ' + "[" * 5_000,
        '{"metadata_map": ' + "[" * 5_000 + "]" * 5_000 + "}",
        "[" * 40_000,
        "{" * 40_000,
        f"{PLAIN} or rather {json.dumps([OTHER])}",
        f"{PLAIN} or rather {PLAIN[:-5]}",
    ],
    ids=lambda answer: answer[:40],
)
def test_an_answer_that_is_no_answer_is_unreadable(answer: str) -> None:
    with pytest.raises(AnswerUnreadable, match="the answer"):
        read_answer(answer)


@pytest.mark.parametrize(
    "unit", ['\\"', "{} ", "[{},] ", '{"a":1,} ', '{"a":",', "{", '["', '{"\\\n']
)
def test_the_longest_answer_is_read_or_unreadable_at_once(unit: str) -> None:
    for start in ("", '{"', '{"metadata_map": ['):
        with pytest.raises(AnswerUnreadable):
            read_answer((start + unit * MOST_CHARACTERS)[:MOST_CHARACTERS])


@given(cut=st.integers(1, 200), wrap=st.sampled_from(["{}", "[{}]", '{{"conditions": {}}}']))
def test_c04_an_answer_that_breaks_off_is_never_used_in_part(cut: int, wrap: str) -> None:
    whole = wrap.format(json.dumps({"metadata_map": [TRIPLE, OTHER, TRIPLE]}))
    if wrap == '{{"conditions": {}}}':
        whole = wrap.format(json.dumps([TRIPLE, OTHER, TRIPLE]))
    with pytest.raises(AnswerUnreadable):
        read_answer(whole[:-cut])


@given(st.text(alphabet='{}[]",:\\ ax1\n'))
def test_whatever_the_model_says_is_read_or_unreadable(text: str) -> None:
    try:
        found: Any = read_answer(text)
    except AnswerUnreadable:
        return
    assert isinstance(found, list)
