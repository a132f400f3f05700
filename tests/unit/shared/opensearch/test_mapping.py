import re

from hypothesis import given
from hypothesis import strategies as st

from shared.model import NO_VECTORS, EmbeddingSpace
from shared.opensearch.mapping import alias_name, chunk_source, index_body, index_name
from tests.fakes.build import chunk

SPACES = st.builds(
    EmbeddingSpace, st.text(max_size=20), st.text(max_size=300), st.integers(0, 16_000)
)
ENGINE_TAKES = re.compile(r"[a-z][a-z0-9-]*")


@given(SPACES)
def test_every_alias_is_a_name_that_the_engine_takes(space: EmbeddingSpace) -> None:
    alias = alias_name("winnow", space)
    assert ENGINE_TAKES.fullmatch(alias)
    assert len(index_name(alias)) < 255


@given(SPACES, SPACES)
def test_two_spaces_never_share_an_alias(one: EmbeddingSpace, other: EmbeddingSpace) -> None:
    assert (alias_name("winnow", one) == alias_name("winnow", other)) == (one == other)


def test_spaces_that_read_alike_are_told_apart() -> None:
    spaces = [
        EmbeddingSpace("given", "a.b", 8),
        EmbeddingSpace("given", "a-b", 8),
        EmbeddingSpace("given", "A-B", 8),
        EmbeddingSpace("given", "a-b", 9),
        EmbeddingSpace("given-a", "b", 8),
    ]
    assert len({alias_name("winnow", space) for space in spaces}) == len(spaces)


def test_a_person_can_read_the_alias() -> None:
    space = EmbeddingSpace("bedrock", "amazon.titan-embed-text-v2:0", 1024)
    assert alias_name("p", space).startswith("p-bedrock-amazon-titan-embed-text-v2-0-1024-")


def test_nothing_is_dynamic_and_vectors_stay_out_of_the_source() -> None:
    mappings = index_body("a", EmbeddingSpace("given", "m", 8), 1, 0)["mappings"]
    assert mappings["dynamic"] == "strict"
    assert mappings["_source"] == {"excludes": ["vector"]}
    assert mappings["properties"]["vector"]["dimension"] == 8


def test_a_space_without_vectors_has_no_vector_field() -> None:
    body = index_body("a", NO_VECTORS, 1, 0)
    assert "vector" not in body["mappings"]["properties"]
    assert body["settings"]["index"]["knn"] is False


def test_a_chunk_fills_exactly_the_fields_of_its_mapping() -> None:
    for numbers, space in ((None, NO_VECTORS), ((1, 0), EmbeddingSpace("given", "m", 2))):
        fields = index_body("a", space, 1, 0)["mappings"]["properties"]
        assert set(chunk_source(chunk("c", "words", numbers))) == set(fields)
