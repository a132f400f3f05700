import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from local.evaluation.questions import QUESTIONS, read_questions
from local.evaluation.trouble import CollectionUnusable
from shared.metadata.operators import NEGATIVE, SPELLINGS

LINE: dict[str, Any] = {
    "id": "q1",
    "language": "en",
    "shape": "equality",
    "today": "2026-03-18",
    "fields": {"lang": "string"},
    "query": "english texts",
    "expected": [{"name": "lang", "comparison_operator": "is", "value": "en"}],
}


def test_our_questions_are_many_and_of_many_shapes() -> None:
    questions = read_questions(QUESTIONS)
    assert len(questions) >= 60
    assert len({question.id for question in questions}) == len(questions)
    assert len({question.query for question in questions}) == len(questions)
    assert max(Counter(question.shape for question in questions).values()) <= 5
    assert sum(not question.expected for question in questions) == 20
    languages = Counter(question.language for question in questions)
    assert languages.keys() == {"en", "zh"}
    assert min(languages.values()) >= 30


def test_our_questions_ask_for_every_kind_of_condition() -> None:
    questions = read_questions(QUESTIONS)
    operators = {
        SPELLINGS[condition["comparison_operator"]]
        for question in questions
        for condition in question.expected
    }
    assert set(SPELLINGS.values()) - operators <= {"not contains"}
    assert operators & set(NEGATIVE)
    assert any(isinstance(c.get("value"), list) for q in questions for c in q.expected)
    assert any(len(question.expected) >= 3 for question in questions)
    assert {type_ for q in questions for types in q.fields.values() for type_ in types} == {
        "string", "number", "time", "boolean", "list",
    }  # fmt: skip
    assert {question.today.isoformat() for question in questions} == {"2026-03-18"}


def write(folder: Path, *lines: Any) -> Path:
    file = folder / "questions.jsonl"
    file.write_text(
        "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    )
    return file


def test_a_question_is_read_with_the_built_in_fields(tmp_path: Path) -> None:
    (question,) = read_questions(write(tmp_path, LINE, ""))
    assert question.expected == LINE["expected"]
    assert question.fields["lang"] == ["string"]
    assert question.fields["uploader"] == ["string"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "Invalid JSON"),
        (LINE | {"more": 1}, "more"),
        (LINE | {"today": "someday"}, "today"),
        (LINE | {"fields": {"lang": "text"}}, "fields.lang"),
        (LINE | {"expected": [{"name": "a"}]}, 'there is no field "a"'),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: Any, words: str) -> None:
    with pytest.raises(CollectionUnusable) as unusable:
        read_questions(write(tmp_path, LINE, line))
    assert "questions.jsonl, line 2" in str(unusable.value)
    assert words in str(unusable.value)


def test_a_file_without_questions_is_unusable(tmp_path: Path) -> None:
    with pytest.raises(CollectionUnusable, match="no question"):
        read_questions(write(tmp_path, "", " "))
    with pytest.raises(CollectionUnusable, match="can't be read"):
        read_questions(tmp_path / "none.jsonl")
