from functions.ingest.cut import cut


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
