import pytest

from functions.ingest.sidecar import parse_sidecar


def test_a_sidecar_holds_metadata() -> None:
    assert parse_sidecar(b'{"metadataAttributes": {"lang": "en", "pages": 3}, "more": 1}') == {
        "lang": "en",
        "pages": 3,
    }


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "Expecting"),
        (b"[]", "it is not"),
        (b'{"lang": "en"}', "it is not"),
        (b'{"metadataAttributes": []}', "/metadataAttributes"),
        (b'{"metadataAttributes": {"source": "x"}}', "/metadataAttributes/source"),
        (b'{"metadataAttributes": {"a": "\\u0000"}}', "NUL"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_what_is_none_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_sidecar(data)
