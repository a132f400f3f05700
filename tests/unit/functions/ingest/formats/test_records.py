import pytest

from shared.files.media import Format
from tests.files.reading import read_file, refuse


def read(data: str, format_: Format = Format.JSON) -> str:
    return read_file(format_, data.encode()).text


def test_each_member_of_a_list_is_a_paragraph_of_paths_and_values() -> None:
    data = '[{"name": "Bolt", "size": {"mm": 1.10, "inch": null}, "ok": false}, {"name": "Nut"}]'
    assert read(data) == "name: Bolt\nsize.mm: 1.10\nsize.inch: null\nok: false\n\nname: Nut"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('{"tags": ["a", "b", 3], "empty": [], "none": {}}', "tags: a, b, 3\nempty: []\nnone: {}"),
        ('{"steps": [{"do": "x"}, "y"]}', "steps[0].do: x\nsteps[1]: y"),
        ('"just a text"', "just a text"),
        ('{"n": 12345678901234567890.50, "e": 1e3}', "n: 12345678901234567890.50\ne: 1e3"),
        ('{"text": "a\\nb\\u0000\\ud800c"}', "text: a\nbc"),
        ('{"a": 1}\n{"a": 2}\n', "a: 1\n\na: 2"),
    ],
)
def test_values_are_written_as_they_stand(data: str, text: str) -> None:
    assert read(data) == text


def test_a_number_keeps_all_of_its_digits() -> None:
    assert read("9" * 20_000) == "9" * 20_000


def test_each_line_of_json_lines_is_a_paragraph() -> None:
    assert read('{"a": 1}\n\n{"a": "x\u2028y"}\r\n', Format.JSONL) == "a: 1\n\na: x\u2028y"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", "line 1"),
        ('{\n"a": 1,\n}', "line 2"),
        ('{"a": 007}', "line 1"),
        ("{'a': 1}\n{'a': 2}", "line 1"),
        ('{"a": 1}\n{"a"\n', "Line 2"),
        ('{"a": 1} {"a": 2}', "line 1"),
    ],
)
def test_what_is_none_is_refused_naming_the_line(data: str, words: str) -> None:
    for format_ in (Format.JSON, Format.JSONL):
        refusal = refuse(format_, data.encode())
        assert refusal.code == "broken"
        assert words in str(refusal)


def test_deep_nesting_is_refused_in_words() -> None:
    refusal = refuse(Format.JSON, b"[" * 200_000)
    assert (refusal.code, str(refusal)) == ("broken", "The file nests too deep to be read.")


@pytest.mark.parametrize("data", [b'""', b'[" "]', b"[]"])
def test_nothing_but_blanks_is_no_text(data: bytes) -> None:
    refusal = refuse(Format.JSON, data)
    assert refusal.code == "no_text"


def test_a_name_that_is_there_twice_loses_no_value() -> None:
    data = b'{"a": "first", "b": 1, "a": "second", "a": {"c": 2}}'
    assert read_file(Format.JSON, data).text == "a[0]: first\na[1]: second\na[2].c: 2\nb: 1"
