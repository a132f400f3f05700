from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.ingest.breaks import Breaks, TokenIndices, find_breaks
from functions.ingest.tokens import find_tokens


def cut_at(text: str, level: str) -> list[str]:
    tokens = find_tokens(text)
    breaks: TokenIndices = getattr(find_breaks(text, tokens), level)
    borders = [0, *tokens[breaks, 0].tolist(), len(text)]
    return [text[a:b].strip() for a, b in pairwise(borders)]


@pytest.mark.parametrize("mark", ["。", "！", "？", "；", "……", "．", "？！", "。。。", "……。"])
def test_m06_marks_that_end_a_chinese_sentence(mark: str) -> None:
    assert cut_at(f"甲乙{mark}丙丁", "sentences") == [f"甲乙{mark}", "丙丁"]


@pytest.mark.parametrize("mark", ["、", "，", "：", "…", "——", ".", "~"])
def test_m06_marks_that_end_none(mark: str) -> None:
    assert cut_at(f"甲乙{mark}丙丁", "sentences") == [f"甲乙{mark}丙丁"]


@pytest.mark.parametrize("mark", [".", "!", "?", "...", "?!", '."', ".)", "!’”", ".]"])
def test_m06_ascii_marks_end_a_sentence_before_a_blank(mark: str) -> None:
    assert cut_at(f"One two{mark} Three", "sentences") == [f"One two{mark}", "Three"]
    assert cut_at(f"One two{mark}\nThree", "sentences") == [f"One two{mark}", "Three"]
    assert cut_at(f"One two{mark}three", "sentences") == [f"One two{mark}three"]


def test_m06_closing_marks_stay_with_their_sentence() -> None:
    assert cut_at("他说：“可以。”然后走了。「好！」（是。）对", "sentences") == [
        "他说：“可以。”",
        "然后走了。",
        "「好！」",
        "（是。）",
        "对",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "v2.5 and 3.14 and 1.000.000",
        "see e.g. this and i.e. that",
        "Dr. Smith met Mrs. J. R. Jones of Acme Inc. there",
        "Fig. 3 and No. 7 on pp. 3 to 5",
        "３．１４",
        "1. An item",
        "a.b.c",
        "example.com/a?b=c!d",
    ],
)
def test_m06_dots_that_end_no_sentence(text: str) -> None:
    assert cut_at(text, "sentences") == [text]


def test_a_dot_that_looks_like_an_abbreviation_may_end_a_sentence() -> None:
    assert cut_at("He said no. Then in 2025. And casino. 5 left", "sentences") == [
        "He said no.",
        "Then in 2025.",
        "And casino.",
        "5 left",
    ]


def test_m06_exclamation_and_question_marks_before_chinese_end_a_sentence() -> None:
    assert cut_at("你好!再见?好", "sentences") == ["你好!", "再见?", "好"]


def test_items_rows_and_quotes_begin_sentences() -> None:
    text = "Intro\n- one\n  * two\n1. three\n2) four\n| a |\n> quote\nwrapped\nline"
    assert cut_at(text, "sentences") == [
        "Intro",
        "- one",
        "* two",
        "1. three",
        "2) four",
        "| a |",
        "> quote\nwrapped\nline",
    ]


def test_blank_lines_part_paragraphs() -> None:
    text = "one\ntwo\n\nthree\n \t\n\n four\u2029five\u2028six"
    assert cut_at(text, "paragraphs") == ["one\ntwo", "three", "four", "five\u2028six"]


def test_words_part_at_blanks() -> None:
    assert cut_at("One two-three,four 5.6\n(x)", "words") == ["One", "two-three,four", "5.6", "(x)"]


def test_ideographs_are_words_but_punctuation_holds_on_to_them() -> None:
    assert cut_at("用API的“好”，（对）！ラーメン", "words") == [
        "用",
        "API",
        "的",
        "“好”，",
        "（对）！",
        "ラー",
        "メ",
        "ン",
    ]


@pytest.mark.parametrize("text", ["葛\U000e0100」", "か\u3099」"])
def test_no_word_begins_between_a_character_and_its_mark(text: str) -> None:
    assert cut_at(text, "words") == [text]


def test_m06_thai_has_no_breaks() -> None:
    assert cut_at("ภาษาไทยไม่มีเครื่องหมาย", "words") == ["ภาษาไทยไม่มีเครื่องหมาย"]


@given(st.text("aZ1.!? \n-。…．”」“，退\u3099\u2029", max_size=60))
def test_a_paragraph_begins_a_sentence_and_a_sentence_a_word(text: str) -> None:
    tokens = find_tokens(text)
    breaks: Breaks = find_breaks(text, tokens)
    paragraphs, sentences, words = (
        set(level.tolist()) for level in (breaks.paragraphs, breaks.sentences, breaks.words)
    )
    assert paragraphs <= sentences <= words <= set(range(1, len(tokens)))
    for level in (breaks.paragraphs, breaks.sentences, breaks.words):
        assert sorted(set(level.tolist())) == level.tolist()
