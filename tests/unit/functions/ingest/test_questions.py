import pytest

from functions.ingest.document import ParsedDocument
from functions.ingest.questions import LEVEL, find_questions
from tests.files.reading import read_as_markdown


def list_questions(text: str) -> list[str]:
    return [each.title for each in find_questions(read_as_markdown(text.encode()))]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Q: How long?", "How long?"),
        ("q1. How long", "How long"),
        ("Question 3: How long?", "How long?"),
        ("**Q: How long?**", "How long?"),
        ("- Q) How long?", "How long?"),
        ("问：退款要多久？", "退款要多久？"),
        ("问题1、退款要多久", "退款要多久"),
        ("問題：退款", "退款"),
        ("question: How long", "How long"),
        ("Q:", ""),
    ],
)
def test_a_label_makes_a_line_a_question(line: str, title: str) -> None:
    text = f"Words. Really?\n{line}\nA: So.\n"
    [question] = find_questions(read_as_markdown(text.encode()))
    assert (question.title, question.level) == (title, LEVEL)
    assert text[question.span.start : question.span.end] == f"{line}\n"


@pytest.mark.parametrize(
    "line", ["Quite so: yes", "Q.E.D.", "Questionable: x", "问询处：一楼", "Qu: x", "A: So?"]
)
def test_other_words_are_no_label(line: str) -> None:
    assert list_questions(f"Words.\n{line}\nMore.\n") == []


def test_without_labels_a_paragraph_that_begins_with_a_question_is_one() -> None:
    text = "How long?\nSeven days.\n\n**Is it free?**\n\nYes.\n\nWell. Really?\n\nSo\nwhat?\n\n"
    text += "真的吗？\n是。"
    assert list_questions(text) == ["How long?", "Is it free?", "真的吗？"]


def test_questions_may_be_numbered() -> None:
    text = "1. How long?\nSeven days.\n\n2) Is it free?\nYes.\n\n3、真的吗？\n是。\n"
    document = ParsedDocument(text=text)
    titles = [each.title for each in find_questions(document)]
    assert titles == ["How long?", "Is it free?", "真的吗？"]


def test_with_labels_others_are_part_of_an_answer() -> None:
    assert list_questions("Q: One?\nA: x\n\nWhy not?\n\nQ: Two?\n") == ["One?", "Two?"]


def test_a_heading_is_one_anyway() -> None:
    assert list_questions("# Why?\n\nSo.\n\n## Q: And?\nSo.\n\nWhich?\nThis.") == ["Which?"]


def test_lines_of_any_length_are_looked_at_in_linear_time() -> None:
    text = "Q" + " " * 1_000_000 + "\n\n" + "a" * 1_000_000 + "?\n\n" + "x?\n\n" * 20_000
    assert len(find_questions(ParsedDocument(text=text))) == 20_000
