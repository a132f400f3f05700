import pytest

from shared.files.sidecar import parse_sidecar


def test_a_sidecar_holds_metadata() -> None:
    assert parse_sidecar(b'{"metadataAttributes": {"lang": "en", "pages": 3}, "more": 1}') == {
        "lang": "en",
        "pages": 3,
    }


def test_l26_attributes_with_their_types_are_taken_too() -> None:
    sidecar = """{"metadataAttributes": {
        "file_id": {"value": {"type": "STRING", "stringValue": "f-1"},
                    "includeForEmbedding": false},
        "year": {"value": {"type": "NUMBER", "numberValue": 2024}},
        "ok": {"value": {"type": "BOOLEAN", "booleanValue": false}},
        "tags": {"value": {"type": "STRING_LIST", "stringListValue": ["a", "b"]}},
        "odd": {"value": {"type": "STRING", "numberValue": 1}},
        "own": {"value": 1}
    }}"""
    assert parse_sidecar(sidecar.encode()) == {
        "file_id": "f-1",
        "year": 2024,
        "ok": False,
        "tags": ["a", "b"],
        "odd": {"value": {"type": "STRING", "numberValue": 1}},
        "own": {"value": 1},
    }


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{\n", "it is not JSON: line 2, Expecting"),
        ("é".encode("latin-1"), "it is not UTF-8 at byte 0"),
        (b"9" * 5_000, "too many digits"),
        (b"[]", "it is not"),
        (b'{"lang": "en"}', "it is not"),
        (b'{"metadataAttributes": []}', "/metadataAttributes"),
        (b'{"metadataAttributes": {"source": "x"}}', "/metadataAttributes/source"),
        (b'{"metadataAttributes": {"a": "\\u0000"}}', "NUL"),
        (b"[" * 100_000, "it nests too deep"),
    ],
)
def test_what_is_none_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_sidecar(data)
