import pytest

from functions.ingest.formats.markdown import find_headings
from shared.errors import DocumentRefused
from tests.files.reading import read_as_markdown


def list_headings(text: str) -> list[tuple[int, str, str]]:
    return [(h.level, h.title, text[h.span.start : h.span.end]) for h in find_headings(text)]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("", []),
        ("words", []),
        ("# One", [(1, "One", "# One")]),
        ("x\n\n   ### One ###  \ny", [(3, "One", "   ### One ###  \n")]),
        ("#\nx", [(1, "", "#\n")]),
        ("#one\n####### seven\n\\# x", []),
        (
            "One\n===\nx\n\nTwo\nlines\n--",
            [(1, "One", "One\n===\n"), (2, "Two lines", "Two\nlines\n--")],
        ),
        ("# A\n# B\n", [(1, "A", "# A\n"), (1, "B", "# B\n")]),
        ("    # code\n", []),
        ("> # quoted\n\n- # item\n\n<div>\n# html\n</div>\n", []),
        ("- ```\n  # comment\n  ```\n\n# A", [(1, "A", "# A")]),
        ("a\u2028# b\n\x0c\n# C", [(1, "C", "# C")]),
        ("\t\n# A\twide\n", [(1, "A wide", "# A\twide\n")]),
    ],
)
def test_headings_of_commonmark(text: str, headings: list[tuple[int, str, str]]) -> None:
    assert list_headings(text) == headings


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("[Release](u) *notes*", "Release notes"),
        ("[Release][r] __notes__", "Release notes"),
        ("`code` & &amp; \\* <b>bold</b>", "code & & * bold"),
        ("![a *logo*](x.png) Firm", "a logo Firm"),
        ("5. Success Criteria", "5. Success Criteria"),
        ("退款**政策**", "退款政策"),
        ("<https://a.example>", "https://a.example"),
    ],
)
def test_m11_a_title_is_the_plain_text_of_its_markup(markup: str, title: str) -> None:
    (heading,) = find_headings(f"## {markup}\n\n[r]: http://a.example\n")
    assert heading.title == title


@pytest.mark.parametrize(
    "fence",
    [
        "````\n# not a heading\n```\n# still not\n````",
        "~~~\n# not\n```\n# not\n~~~",
        "   ```\n# not\n   ```",
        "```py\n# not\n`````",
        "```\n# not\n~~~\n\n# not\n```",
    ],
)
def test_m08_a_comment_in_a_fence_is_no_heading(fence: str) -> None:
    assert [h.title for h in find_headings(f"# A\n\n{fence}\n\n## B\n\ntext")] == ["A", "B"]


def test_m08_an_unclosed_fence_runs_to_the_end() -> None:
    assert [h.title for h in find_headings("# A\n\n```\n# not\n\n## not either\n")] == ["A"]


def test_what_stands_before_the_start_is_no_heading() -> None:
    text = "---\ntitle: x\n# comment\n---\n\n# A\n\nb: c\n---\n"
    found = find_headings(text, text.index("\n# A"))
    assert [(h.level, h.title, text[h.span.start : h.span.end]) for h in found] == [
        (1, "A", "# A\n"),
        (2, "b: c", "b: c\n---\n"),
    ]


def test_a_rule_at_the_top_is_none() -> None:
    assert [h.title for h in find_headings("---\n\na: b\n---\n")] == ["a: b"]


def test_a_huge_title_is_cut() -> None:
    (heading,) = find_headings("# " + "[" * 200_000)
    assert len(heading.title) == 1000
    assert heading.span.end == 200_002


def test_front_matter_is_no_text_and_gives_the_title() -> None:
    document = read_as_markdown(b"---\ntitle: The fees\n---\n# A\n\nb: c\n---\n")
    assert (document.title, document.start) == ("The fees", 24)
    assert [(h.level, h.title) for h in document.headings] == [(1, "A"), (2, "b: c")]
    assert document.text[document.headings[0].span.start :].startswith("# A")


@pytest.mark.parametrize("title", ["", "title: 5", "title: ''", "title: [x]", "name: x"])
def test_a_title_is_a_text(title: str) -> None:
    assert read_as_markdown(f"---\na: 1\n{title}\n---\nx".encode()).title is None


def test_front_matter_that_can_t_be_read_is_text_without_headings_and_reported() -> None:
    document = read_as_markdown(b"---\ntitle: a: b\n---\n# A\n")
    assert document.start == 0
    assert [h.title for h in document.headings] == ["A"]
    assert document.left_out == [
        "front matter as metadata: line 1: mapping values are not allowed in this context"
    ]


def test_nothing_but_front_matter_is_no_text() -> None:
    with pytest.raises(DocumentRefused, match="nothing but front matter") as refused:
        read_as_markdown(b"---\ntitle: x\n---\n\n")
    assert refused.value.code == "no_text"
