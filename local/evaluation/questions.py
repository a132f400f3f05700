"""Questions with the conditions that they set, as one JSON object a line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local.evaluation.collection import split_lines
from local.evaluation.trouble import CollectionUnusable
from shared.metadata.automatic import FieldTypes, extract_conditions, gather_types
from shared.metadata.fields import Field as MetadataField
from shared.metadata.fields import FieldType

QUESTIONS = Path(__file__).parents[2] / "tests" / "data" / "filter_questions.jsonl"
"""Ours, English and Chinese."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query and what a filter for it should be.

    Attributes:
        shape: what kind of condition it sets, in words.
        today: what its relative dates are counted from.
        fields: the metadata fields of its datasets, and the built-in ones.
        expected: conditions as they are applied; none for a query that sets none.
    """

    id: str
    language: str
    shape: str
    today: date
    fields: FieldTypes
    query: str
    expected: Sequence[Mapping[str, Any]]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1)]
    language: str
    shape: str
    today: date
    fields: dict[str, FieldType]
    query: Annotated[str, Field(min_length=1)]
    expected: list[dict[str, Any]]


def read_questions(file: Path) -> list[Question]:
    """Returns the questions of a file.

    Raises:
        CollectionUnusable: naming the line.
    """
    try:
        lines = split_lines(file, file.read_bytes())
    except OSError as error:
        raise CollectionUnusable(f"{file} can't be read: {error}") from error
    found = [_read(line, f"{file}, line {number}") for number, line in lines]
    if not found:
        raise CollectionUnusable(f"{file} holds no question")
    return found


def _read(line: str, place: str) -> Question:
    try:
        written = _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise CollectionUnusable(
            f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from error
    fields = gather_types(
        MetadataField(name, type_, declared=True) for name, type_ in written.fields.items()
    )
    expected = extract_conditions(json.dumps({"conditions": written.expected}), fields)
    if expected.dropped:
        raise CollectionUnusable(f"{place}: expected: {expected.dropped[0][1]}")
    return Question(
        id=written.id,
        language=written.language,
        shape=written.shape,
        today=written.today,
        fields=fields,
        query=written.query,
        expected=expected.conditions,
    )
