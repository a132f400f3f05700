import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ExternalFailed
from shared.external.answers import explain_status, read_answer
from shared.metadata.grammar import is_blank
from shared.model import ExternalAnswer


def read(*records: Any) -> ExternalAnswer:
    return read_answer(json.dumps({"records": records}).encode())


def test_n02_records_without_score_metadata_or_content_break_nothing() -> None:
    answer = read(
        {},
        {"content": "a"},
        {"content": "b", "score": None, "metadata": None},
        {"content": None, "score": 0.9},
        {"content": "c", "score": "0.8"},
    )
    found = [(hit.content, hit.score, hit.metadata, hit.title) for hit in answer.hits]
    assert found == [("a", 0.0, {}, ""), ("b", 0.0, {}, ""), ("c", 0.8, {}, "")]
    assert answer.left_out == 2


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.25, 0.25), (1, 1.0), (-0.5, -0.5), (7, 7.0), ("1e-1", 0.1), (" .5 ", 0.5),
        ("high", 0.0), ("0,8", 0.0), ("", 0.0), (True, 0.0), ([0.9], 0.0), ({}, 0.0),
        (10**400, 0.0), ("nan", 0.0),
    ],
)  # fmt: skip
def test_a_score_is_what_it_reads_as_and_else_nothing(score: Any, expected: float) -> None:
    assert read({"content": "a", "score": score}).hits[0].score == expected


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_json_has_no_number_for_is_never_passed_on(written: str) -> None:
    data = (
        f'{{"records": [{{"content": "a", "score": {written}, "metadata": {{"x": {written}}}}}]}}'
    )
    [hit] = read_answer(data.encode()).hits
    assert (hit.score, hit.metadata) == (0.0, {"x": None})


@pytest.mark.parametrize("metadata", [None, [], ["a"], "text", 5, True])
def test_metadata_is_always_an_object(metadata: Any) -> None:
    assert read({"content": "a", "metadata": metadata}).hits[0].metadata == {}


@pytest.mark.parametrize("content", [None, "", "  \n\u3000", 5, ["a"], {"text": "a"}])
def test_a_record_without_text_is_left_out_and_counted(content: Any) -> None:
    answer = read({"content": content, "score": 1}, {"content": "b"}, None, "text", 5)
    assert [hit.content for hit in answer.hits] == ["b"]
    assert answer.left_out == 4


@pytest.mark.parametrize(
    "record",
    [
        {"content": "a\0"},
        {"content": "\ud800"},
        {"content": "a", "title": "\udfff"},
        {"content": "a", "metadata": {"\ud800": 1}},
        {"content": "a", "metadata": {"deep": [{"x": "\0"}]}},
    ],
)
def test_text_that_is_none_is_left_out(record: dict[str, Any]) -> None:
    assert read(record) == ExternalAnswer([], 1)


def test_metadata_too_deep_to_be_written_again_is_left_out() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = {"x": [deep]}
    assert read({"content": "a", "metadata": deep}) == ExternalAnswer([], 1)


def test_the_source_is_the_one_that_the_metadata_names() -> None:
    sources = ["s3://b/k", "", 5, None]
    answer = read(*({"content": "a", "metadata": {"source": source}} for source in sources))
    assert [hit.source for hit in answer.hits] == ["s3://b/k", None, None, None]


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", b"[]", b"null", b"{}", b'{"records": null}', b'{"records": {}}', b"\xff\xfe",
     b'{"records": [', b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_list_of_records_is_a_failure(data: bytes) -> None:
    with pytest.raises(ExternalFailed):
        read_answer(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
records = st.dictionaries(
    st.sampled_from(["content", "score", "title", "metadata", "other"]), json_values
)


@given(st.lists(records | json_values, max_size=5))
def test_whatever_the_records_are_each_is_a_hit_or_counted(sent: list[Any]) -> None:
    answer = read(*sent)
    assert len(answer.hits) + answer.left_out == len(sent)
    for hit in answer.hits:
        assert not is_blank(hit.content)
        json.dumps(hit.metadata, allow_nan=False)


@pytest.mark.parametrize(
    ("status", "words"),
    [(301, "redirects"), (307, "redirects"), (400, "refuses the request"), (401, "key"),
     (403, "key"), (404, "knowledge_id"), (429, "rate"), (500, "out of order"), (204, "refuses")],
)  # fmt: skip
def test_a_failure_is_told_in_words_of_ours(status: int, words: str) -> None:
    body = json.dumps({"error_code": 1002, "error_msg": "the key sk-secret is wrong"}).encode()
    reason = explain_status(status, body)
    assert reason is not None
    assert words in reason
    assert f"{status} (error 1002)" in reason
    assert "secret" not in reason


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"error_code": "x"}', b'{"error_code": true}'])
def test_a_failure_without_a_number_is_told_without(data: bytes) -> None:
    assert explain_status(500, data) == "it answered 500: it is out of order for now"


def test_success_has_no_reason() -> None:
    assert explain_status(200, b"") is None
