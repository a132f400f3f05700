import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.ingest.tokens import count_tokens, find_tokens

SCRIPTS = st.text("ab1 Zé\n。退が\u3099한ภั\u0301Ж\u200d👩🏽🇩🇪.,_\u3000\u2028", max_size=60)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t\u3000\u2028\xa0", 0),
        ("word", 1),
        ("words", 2),
        ("refund policy", 4),
        ("v2.5", 3),
        ("退款需要", 4),
        ("他说：“可以。”", 8),
        ("カタカナ", 4),
        ("한국어", 3),
        ("привет", 3),
        ("…!?", 3),
        ("API接口", 3),
    ],
)
def test_golden_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_marks_belong_to_the_character_before_them() -> None:
    decomposed = unicodedata.normalize("NFD", "café")
    assert [tuple(span) for span in find_tokens(decomposed + " 👩🏽 葛\U000e0100")] == [
        (0, 5),
        (6, 8),
        (9, 11),
    ]


@pytest.mark.parametrize(
    "whole", ["👩🏽\u200d🚒", "👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "1\ufe0f⃣", "क\u200dष"]
)
def test_what_is_one_sign_is_one_token(whole: str) -> None:
    assert [tuple(span) for span in find_tokens(whole * 2)] == [
        (0, len(whole)),
        (len(whole), 2 * len(whole)),
    ]


def test_endless_marks_still_cost_tokens() -> None:
    assert count_tokens("a" + "\u0301" * 9000) == 1001
    assert count_tokens("👩\u200d" * 9000) == 1000


@given(SCRIPTS | st.text(max_size=60))
def test_tokens_are_all_that_is_not_white_space(text: str) -> None:
    spans = find_tokens(text)
    inside = [i for start, end in spans for i in range(start, end)]
    assert inside == [i for i, character in enumerate(text) if not character.isspace()]
    assert len(spans) == count_tokens(text)


@given(SCRIPTS, st.data())
def test_counts_add_up_at_token_borders(text: str, data: st.DataObject) -> None:
    spans = find_tokens(text).tolist()
    first = data.draw(st.integers(0, len(spans)))
    last = data.draw(st.integers(first, len(spans)))
    piece = text[spans[first][0] : spans[last - 1][1]] if last > first else ""
    assert count_tokens(piece) == last - first


@given(SCRIPTS, SCRIPTS)
def test_white_space_between_texts_adds_nothing(left: str, right: str) -> None:
    assert count_tokens(f"{left}\n{right}") == count_tokens(left) + count_tokens(right)


@given(st.lists(st.text("abcXYZ019", min_size=1, max_size=20), max_size=8))
def test_latin_words_cost_a_token_for_every_four_characters_begun(words: list[str]) -> None:
    assert count_tokens(" ".join(words)) == sum(-(-len(word) // 4) for word in words)


def test_spans_rise() -> None:
    spans = find_tokens("One sentence, 退款。 ภาษา " * 20)
    assert all(start < end <= after for (start, end), (after, _) in pairwise(spans.tolist()))
