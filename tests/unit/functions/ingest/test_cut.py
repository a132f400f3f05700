from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.ingest import cut as module
from functions.ingest.cut import cut
from functions.ingest.tokens import count_tokens
from shared.model import Span


def pieces(text: str, budget: int, overlap: int = 0, body: int = 0) -> list[str]:
    return [text[span.start : span.end] for span in cut(text, budget, overlap, body)]


def test_nothing_gives_nothing() -> None:
    assert pieces("", 5) == []
    assert pieces(" \n ", 1) == []


def test_what_fits_stays_whole() -> None:
    assert pieces(" one. two.\n\nthree ", 6) == ["one. two.\n\nthree"]


def test_a_piece_ends_with_a_paragraph_where_that_fills_more_than_half() -> None:
    assert pieces("one two six\n\nred. blue.", 5) == ["one two six", "red. blue."]


def test_else_with_a_sentence() -> None:
    assert pieces("one\n\nred two. six ten sky", 5) == ["one\n\nred two.", "six ten sky"]


def test_else_with_a_word() -> None:
    assert pieces("one two six ten sky", 2) == ["one two", "six ten", "sky"]


def test_a_short_paragraph_is_a_piece_where_no_other_sentence_fits() -> None:
    assert pieces("one\n\n" + "two " * 9 + "end.", 10) == [
        "one",
        "two two two two two two two two two",
        "end.",
    ]


def cut_pages(*pages: str, budget: int, overlap: int = 0) -> list[str]:
    text, starts = "\n\n".join(pages), [0]
    for page in pages[:-1]:
        starts.append(starts[-1] + len(page) + 2)
    return [text[s.start : s.end] for s in cut(text, budget, overlap, pages=starts)]


def test_a_piece_ends_with_the_first_page_that_fills_more_than_two_fifths_of_it() -> None:
    pages = ("one two", "six ten sky", "red", "end now")
    assert cut_pages(*pages, budget=10) == ["one two\n\nsix ten sky", "red\n\nend now"]
    assert cut_pages(*pages, budget=7) == ["one two\n\nsix ten sky", "red\n\nend now"]
    assert cut_pages(*pages, budget=4) == ["one two", "six ten sky", "red\n\nend now"]
    assert cut_pages(*pages, budget=100) == ["\n\n".join(pages)]


def test_no_overlap_reaches_over_the_border_of_a_page() -> None:
    assert cut_pages("one two six ten", "sky red end now", budget=5, overlap=2) == [
        "one two six ten",
        "sky red end now",
    ]
    assert cut_pages("one red", "two. six ten sky end", budget=6, overlap=3) == [
        "one red\n\ntwo.",
        "two. six ten sky end",
    ]


def test_a_word_over_the_budget_is_cut_between_tokens() -> None:
    assert pieces("one abcdefghijkl two", 2) == ["one", "abcdefgh", "ijkl two"]


def test_the_overlap_starts_with_a_sentence() -> None:
    text = "One two. Red sky. Six ten. End now."
    assert pieces(text, 6, 3) == [
        "One two. Red sky.",
        "Red sky. Six ten.",
        "Six ten. End now.",
    ]


def test_else_with_a_word_for_at_most_the_overlap() -> None:
    assert pieces("one two six ten sky", 3, 1) == ["one two six", "six ten sky"]


def test_no_overlap_rather_than_one_that_starts_inside_a_word() -> None:
    text = "one two abcdefghijkl six"
    assert pieces(text, 5, 2) == ["one two abcdefghijkl", "six"]


def test_a_heading_is_never_a_piece_without_a_body() -> None:
    text = "Head\n\n" + "word " * 8
    assert pieces(text, 4, 0, body=6)[0] == "Head\n\nword word word"
    assert pieces("One two six\n\nten sky", 3, 0, body=13) == ["One two", "six\n\nten sky"]


WORDS = st.lists(
    st.sampled_from(
        ["one", "Dr. Two", "v2.5", "退款。", "  ", "\n\n", ". ", "x" * 30, "- a", "😀"]
    ),
    max_size=80,
).map(" ".join)


@given(WORDS, st.integers(1, 12), st.integers(0, 6), st.integers(0, 30), st.integers(1, 40))
def test_windows_lose_and_repeat_nothing(
    text: str, budget: int, overlap: int, body: int, window: int
) -> None:
    overlap = min(overlap, budget // 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW", window)
        patch.setattr(module, "_MARGIN", 2)
        spans = list(cut(text, budget, overlap, body))
    covered: set[int] = set()
    for span in spans:
        words = text[span.start : span.end]
        assert words == words.strip() != ""
        assert count_tokens(words) <= budget
        covered.update(range(span.start, span.end))
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered
    for one, after in pairwise(spans):
        assert one.start < after.start
        assert one.end < after.end
        assert count_tokens(text[after.start : one.end]) <= overlap


def test_a_text_in_windows_is_cut_as_it_is_in_one() -> None:
    text = "One sentence of plain words. 退款需要七个工作日。 Another, e.g. this one.\n\n" * 200
    whole = list(cut(text, 50, 10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW", 1_000)
        assert list(cut(text, 50, 10)) == whole


def test_white_space_longer_than_a_window_is_passed_over() -> None:
    text = "one" + " " * 700_000 + "two" + " " * 700_000
    assert pieces(text, 1) == ["one", "two"]
    assert pieces(" " * 700_000, 1) == []


def test_a_part_of_a_text_is_cut_as_if_it_were_alone() -> None:
    text = "xx. one two. six ten sky. yy"
    spans = list(cut(text, 3, 1, within=Span(4, 25)))
    assert [text[span.start : span.end] for span in spans] == pieces(text[4:25], 3, 1)
