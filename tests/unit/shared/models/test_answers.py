import json

import pytest

from shared.errors import EmbedderFailed
from shared.models.answers import (
    explain_status,
    order_rows,
    parse_object,
    read_message,
    read_vectors,
)


def item(index: object, *embedding: float) -> dict[str, object]:
    return {"index": index, "embedding": list(embedding)}


def test_rows_come_in_the_order_of_their_index() -> None:
    items = [item(2, 0.2), item(0, 0.0), item(1, 0.1)]
    assert order_rows("m", items, 3) == [[0.0], [0.1], [0.2]]


@pytest.mark.parametrize(
    "items",
    [
        [item(0, 1), item(1, 1)],
        [item(0, 1), item(1, 1), item(2, 1), item(3, 1)],
        [item(0, 1), item(1, 1), item(1, 1)],
        [item(0, 1), item(1, 1), item(2, 1), item(2, 1)],
        [item(1, 1), item(2, 1), item(3, 1)],
        [item(-1, 1), item(0, 1), item(1, 1)],
        [item(0, 1), item(1, 1), {"embedding": [1]}],
        [item(0, 1), item(1, 1), item("2", 1)],
        [item(0, 1), item(True, 1), item(2, 1)],
        [item(0, 1), item(1, 1), item(2.0, 1)],
        [item(0, 1), item(1, 1), [1.0]],
        [item(0, 1), item(1, 1), item([2], 1)],
        [],
        None,
        {"0": [1]},
    ],
    ids=repr,
)
def test_o13_answers_that_name_not_each_text_once_are_refused(items: object) -> None:
    with pytest.raises(EmbedderFailed, match="m gave"):
        order_rows("m", items, 3)


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 0.0]],
        [[1.0, 0.0]] * 3,
        [[1.0, 0.0], [1.0]],
        [[1.0, 0.0], [float("nan"), 0.0]],
        [[1.0, 0.0], [0.0, 0.0]],
        [[1.0, 0.0], None],
        [[1.0, 0.0], "AACAPwAAAAA="],
        None,
        {"float": [[1.0, 0.0]]},
    ],
    ids=repr,
)
def test_o13_rows_that_are_no_vectors_are_refused(rows: object) -> None:
    with pytest.raises(EmbedderFailed, match="m gave"):
        read_vectors("m", rows, 2, 2)


def test_rows_become_unit_vectors() -> None:
    (vector,) = read_vectors("m", [[3, 4]], 1, 2)
    assert vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("data", [b"", b"<html>", b"\xff\xfe", b"[1]", b'"x"', b"[" * 100_000])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(EmbedderFailed, match="the server of m answered"):
        parse_object("m", data)
    assert parse_object("m", json.dumps({"a": 1}).encode()) == {"a": 1}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "credentials"),
        (403, "credentials"),
        (404, "does not know this model"),
        (429, "rate limit"),
        (500, "out of order"),
        (503, "out of order"),
        (400, "refuses the request: too long"),
        (422, "refuses the request: too long"),
    ],
)
def test_each_status_is_explained(status: int, words: str) -> None:
    message = str(explain_status("m", status, "too long"))
    assert message.startswith(f"the server of m answered {status}: ")
    assert words in message


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_messages_about_credentials_and_faults_are_not_passed_on(status: int) -> None:
    assert "sk-123" not in str(explain_status("m", status, "Incorrect API key provided: sk-123"))


def test_a_long_message_is_cut() -> None:
    assert len(str(explain_status("m", 400, "x" * 10_000))) < 400


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"error": {"message": "openai", "type": "x"}}, "openai"),
        ({"error": "tei", "error_type": "validation"}, "tei"),
        ({"id": "1", "message": "cohere"}, "cohere"),
        ({"detail": "jina"}, "jina"),
        ({"detail": [{"msg": "fastapi"}]}, ""),
        ({"error": {"code": 5}}, ""),
        ({"error": None}, ""),
        (["words"], ""),
        ("words", "words"),
    ],
)
def test_a_servers_own_words_are_found_in_each_of_the_usual_forms(
    answer: object, words: str
) -> None:
    assert read_message(json.dumps(answer).encode()) == words


@pytest.mark.parametrize("data", [b"", b"<html>", b"[" * 100_000])
def test_what_is_no_json_has_no_words(data: bytes) -> None:
    assert read_message(data) == ""
