import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.ingest.delimiter import split_at


def list_parts(text: str, delimiter: str | None, start: int = 0) -> list[str]:
    return [text[part.start : part.end] for part in split_at(text, start, delimiter)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one#two", ["one#", "two"]),
        ("one# #\n#two", ["one# #\n#", "two"]),
        ("#one", ["#one"]),
        ("one#", ["one#"]),
        ("one#\n", ["one#\n"]),
        ("#one#two#", ["#one#", "two#"]),
        ("###", ["###"]),
        ("one", ["one"]),
        ("", [""]),
    ],
)
def test_a_delimiter_goes_with_the_words_that_it_ends(text: str, parts: list[str]) -> None:
    assert list_parts(text, "#") == parts


def test_a_delimiter_is_no_pattern_and_may_be_white_space() -> None:
    assert list_parts("a.b.*c", ".*") == ["a.b.*", "c"]
    assert list_parts("a\n\n\n\nb\nc", "\n\n") == ["a\n\n\n\n", "b\nc"]


def test_without_a_delimiter_there_is_one_part() -> None:
    assert list_parts("--a\n\nb", None, 2) == ["a\n\nb"]


@given(st.text("ab# \n", max_size=40), st.sampled_from(["#", "# ", "a", "\n"]), st.integers(0, 5))
def test_the_parts_are_the_text(text: str, delimiter: str, start: int) -> None:
    assert "".join(list_parts(text, delimiter, start)) == text[start:]
    for part in list_parts(text, delimiter, start)[1:]:
        assert part.replace(delimiter, "").strip()
