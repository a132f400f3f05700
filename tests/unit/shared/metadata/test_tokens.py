"""Names and values as text that reads as itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.metadata.tokens import write_text
from shared.metadata.where import parse_where

ODD = [
    "and",
    "NOT",
    "empty",
    "null",
    "true",
    "5",
    "-2.5",
    "007",
    "is",
    "a b",
    "it's",
    'a "b"',
    "\\",
]
ODD += [
    "`",
    "“",
    "a,b",
    "[",
    "a=b",
    "a!=b",
    "a!",
    "知识库",
    "\u3000",
    "\n",
    "\\n",
    "https://a.example/b?c",
]


@given(
    name=st.sampled_from(ODD) | st.text(min_size=1),
    value=st.sampled_from(["", *ODD]) | st.text().filter(lambda text: "{{" not in text),
)
def test_what_is_written_reads_as_itself(name: str, value: str) -> None:
    for written in (write_text(value), f"[{write_text(value)}]"):
        [read] = parse_where(f"{write_text(name)} is {written}")["conditions"]
        assert read["name"] == name
        assert read["value"] in (value, [value])


@pytest.mark.parametrize("text", ["a", "007", "1.10", "it/s-1%", "知识库", "a!"])
def test_one_word_needs_no_quotes(text: str) -> None:
    assert write_text(text) == text
