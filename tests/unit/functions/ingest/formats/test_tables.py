from functions.ingest.formats.draft import Draft
from functions.ingest.formats.options import Options
from functions.ingest.formats.tables import join_cells, write_table


def test_a_row_says_its_columns_names() -> None:
    draft = Draft(Options())
    write_table(draft, [[""], ["Title", ""], ["a", " b "], ["1", "2\n\n 3"], ["", ""], ["x"]])
    assert draft.finish("").text == "Title\n\na | b\n\na: 1\nb: 2\n3\n\na: x"


def test_a_row_within_a_text_is_a_line() -> None:
    assert join_cells(["Pro", "42\nEUR", ""]) == "Pro | 42 EUR | "
    assert join_cells([" ", "\n"]) == ""
