"""JSON and JSON Lines: each record is a paragraph of `path: value` lines."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.options import Options
from functions.ingest.formats.plain import read_text
from shared.errors import DocumentRefused

CALLED = "JSON"


class _Number(str):
    """A number as it is written: 1.10 is not 1.1, and no digit is lost."""

    __slots__ = ()


def read(data: bytes, charset: str | None, options: Options) -> ParsedDocument:
    """Returns the records of a file: the members of a list, the lines of JSON Lines, or all of it.

    Many a file of JSON Lines is named .json, so that both are read as what they are.
    """
    decoded = read_text(data, charset)
    draft = Draft(options)
    for record in _list_records(decoded.text):
        draft.add_paragraph("\n".join(_list_lines(record)))
    document = draft.finish("The file holds no value.")
    return replace(document, encoding=decoded.encoding, guessed=decoded.guessed)


def _list_records(text: str) -> Iterator[Any]:
    try:
        whole = _parse(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0]):  # noqa: PLR2004 - JSON Lines has more
            raise DocumentRefused(
                "broken", f"The file is no JSON: line {error.lineno}, {error.msg}."
            ) from error
        yield from _list_lined(text)
    else:
        yield from whole if isinstance(whole, list) else [whole]


def _list_lined(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield _parse(line)
            except json.JSONDecodeError as error:
                raise DocumentRefused(
                    "broken", f"Line {number} is no JSON: {error.msg}."
                ) from error


def _is_json(text: str) -> bool:
    try:
        _parse(text)
    except json.JSONDecodeError:
        return False
    return True


def _parse(text: str) -> Any:
    return json.loads(
        text,
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=_Number,
        object_pairs_hook=_gather,
    )


def _gather(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object; of a name that is there twice, a list of all its values."""
    gathered = dict(members)
    if len(gathered) == len(members):
        return gathered
    values: dict[str, list[Any]] = defaultdict(list)
    for name, value in members:
        values[name].append(value)
    return {name: each if len(each) > 1 else each[0] for name, each in values.items()}


def _list_lines(record: Any) -> Iterator[str]:
    """Yields the values of a record, each with the path that leads to it."""
    waiting: list[tuple[str, Any]] = [("", record)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            inner = [(f"{path}.{name}" if path else name, value[name]) for name in value]
            waiting.extend(reversed(inner))
        elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
            inner = [(f"{path}[{n}]", each) for n, each in enumerate(value)]
            waiting.extend(reversed(inner))
        elif written := _write(value):
            yield f"{path}: {written}" if path else written


def _write(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value:
        return ", ".join(map(_write, value))
    return json.dumps(value)
