from typing import Any

import pytest

from shared.files.front_matter import read_front_matter, read_own_metadata


@pytest.mark.parametrize(
    ("yaml", "fields"),
    [
        ("title: Über uns", {"title": "Über uns"}),
        (
            "lang: no\ndate: 2024-05-01\nat: 12:30",
            {"lang": "no", "date": "2024-05-01", "at": "12:30"},
        ),
        ("year: 2024\nratio: 2.5\nless: -1e3", {"year": 2024, "ratio": 2.5, "less": "-1e3"}),
        ("code: 007\nversion: '1.10'", {"code": "007", "version": "1.10"}),
        (
            "ok: true\nnot: False\nnone:\nnull: ~",
            {"ok": True, "not": False, "none": None, "null": None},
        ),
        ("tags: [red, 'true', 3]", {"tags": ["red", "true", 3]}),
        ("tags:\n  - a\n\n  - b\nmore:\n  x: 1", {"tags": ["a", "b"], "more": {"x": 1}}),
        ("big: 123456789012345678901234567890", {"big": "123456789012345678901234567890"}),
        ("large: 1.0e999", {"large": "1.0e999"}),
        ("# nothing", {}),
        ("text: !!python/object:os.system x", {"text": "x"}),
    ],
)
def test_values_are_read_as_json_has_them(yaml: str, fields: dict[str, Any]) -> None:
    text = f"---\n{yaml}\n---\n# Title\n"
    front = read_front_matter(text)
    assert front.fields == fields
    assert text[front.start :] == "# Title\n"
    assert front.problem is None


@pytest.mark.parametrize("end", ["---\n", "...\n", "---", "---  \n"])
def test_a_line_of_dashes_or_dots_ends_it(end: str) -> None:
    front = read_front_matter(f"---\na: 1\n{end}")
    assert (front.fields, front.start) == ({"a": 1}, len(f"---\na: 1\n{end}"))


def test_windows_line_ends_are_line_ends() -> None:
    front = read_front_matter("---\r\na: 1\r\nb: x\r\n---\r\ntext")
    assert (front.fields, front.start) == ({"a": 1, "b": "x"}, 22)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text",
        "---",
        "---\na: 1",
        "---\n\na: b\n---\n",
        "\n---\na: 1\n---\n",
        "--- a\nb: 1\n---\n",
        "---\nwords\n---\n",
        "---\n- a\n---\n",
        "---\n" + "a: 1\n" * 20_000 + "---\n",
    ],
)
def test_what_is_none_stays_text(text: str) -> None:
    front = read_front_matter(text)
    assert (front.fields, front.start, front.end, front.problem) == ({}, 0, 0, None)


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        ("note: this is: no yaml", "line 1: mapping values"),
        ("a: 1\nb: [1", "line"),
        ("a: &x [1]\nb: [*x, *x]", "aliases"),
        ("a: 1\na: 2", "'a' stands twice"),
        ("a: 1\n[b]: 2", "a name is a list"),
        ("a: " + "[" * 1100 + "]" * 1100, "nesting"),
        ("a: \x07", "control characters"),
        ('a: "\\0"', "/a: holds a NUL"),
        ('a: 1\n"\\0": 1', "holds a NUL"),
    ],
)
def test_what_can_t_be_read_stays_text_and_says_why(yaml: str, problem: str) -> None:
    text = f"---\n{yaml}\n---\nwords"
    front = read_front_matter(text)
    assert problem in (front.problem or "")
    assert (front.fields, front.start) == ({}, 0)
    assert text[front.end :] == "words"  # no heading stands in it


def test_only_markdown_has_metadata_of_its_own() -> None:
    data = "---\nlang: 中文\n---\nx".encode("gbk")
    assert read_own_metadata(data, "text/markdown; charset=gbk") == {"lang": "中文"}
    assert read_own_metadata(data, "text/markdown") == {"lang": "中文"}
    assert read_own_metadata(data, "text/plain") == {}
    assert read_own_metadata(b"---\na: 1\n---\n\xff\x01", "text/markdown") == {}
