from functions.ingest.sections import split_sections
from tests.files.reading import read_as_markdown


def list_sections(markdown: str) -> list[tuple[str, str, str]]:
    document = read_as_markdown(markdown.encode())
    return [
        (">".join(s.path), document.text[s.start : s.body], document.text[s.body : s.end])
        for s in split_sections(document)
    ]


def test_a_text_without_headings_is_one_section() -> None:
    assert list_sections("a\n\nb") == [("", "", "a\n\nb")]


def test_what_stands_before_the_first_heading_has_no_path() -> None:
    assert list_sections("a\n# B\nc") == [("", "", "a\n"), ("B", "# B\n", "c")]
    assert list_sections("\n\n# B\nc") == [("B", "# B\n", "c")]


def test_m11_paths_hold_ancestors_only() -> None:
    sections = list_sections("# A\n## A1\n### A1a\nx\n## A2\ny\n# B\nz")
    assert sections == [
        ("A>A1>A1a", "# A\n## A1\n### A1a\n", "x\n"),
        ("A>A2", "## A2\n", "y\n"),
        ("B", "# B\n", "z"),
    ]


def test_m11_a_jump_down_and_back() -> None:
    sections = list_sections("# A\na\n### C\nc\n## B\nb\n#### D\nd\n### E\ne\n# F\nf")
    assert [path for path, _, _ in sections] == ["A", "A>C", "A>B", "A>B>D", "A>B>E", "F"]


def test_m11_a_deeper_heading_first_is_no_ancestor() -> None:
    assert [path for path, _, _ in list_sections("### A\na\n## B\nb\n\nC\n===\nc")] == [
        "A",
        "B",
        "C",
    ]


def test_m10_a_heading_without_a_body_stands_alone_only_when_nothing_is_under_it() -> None:
    assert list_sections("## S1\n## S2\nFoo") == [("S1", "## S1\n", ""), ("S2", "## S2\n", "Foo")]
    assert list_sections("# A\n\n## S1\n\n# B\n") == [
        ("A>S1", "# A\n\n## S1\n\n", ""),
        ("B", "# B\n", ""),
    ]


def test_front_matter_is_in_no_section() -> None:
    assert list_sections("---\na: 1\n---\nwords\n# B\nb") == [
        ("", "", "words\n"),
        ("B", "# B\n", "b"),
    ]


def test_a_heading_without_words_is_left_out_of_the_path() -> None:
    assert list_sections("#\n## B\nb") == [("B", "#\n## B\n", "b")]
