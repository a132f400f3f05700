import numpy as np
import pytest

from functions.ingest.embed import embed
from shared.errors import DocumentRefused, EmbedderFailed
from shared.model import NO_VECTORS, EmbeddingSpace, Passage
from tests.fakes.build import vector
from tests.fakes.embedder import FakeEmbedder, hash_vector

SPACE = EmbeddingSpace("openai_compatible", "m", 4)


def passage(text: str, position: int, *numbers: float, heading: str = "") -> Passage:
    brought = vector(*numbers) if numbers else None
    return Passage(text=text, position=position, heading=heading, vector=brought)


def test_only_passages_without_a_vector_are_embedded_and_each_gets_its_own() -> None:
    embedder = FakeEmbedder(SPACE)
    brought = passage("b", 2, 1, 2, 3, 4)
    made = embed(SPACE, [passage("a", 1), brought, passage("c", 3)], embedder)
    assert embedder.passages == ["a", "c"]
    expected = [hash_vector("a", 4), brought.vector, hash_vector("c", 4)]
    for got, wanted in zip(made, expected, strict=True):
        assert got is not None
        assert np.array_equal(got, wanted)  # type: ignore[arg-type]


def test_the_heading_is_embedded_with_its_text() -> None:
    embedder = FakeEmbedder(SPACE)
    embed(SPACE, [passage("body", 1, heading="Guide > Fees")], embedder)
    assert embedder.passages == ["Guide > Fees\nbody"]


def test_a_space_without_vectors_embeds_nothing() -> None:
    assert embed(NO_VECTORS, [passage("a", 1), passage("b", 2)], None) == [None, None]


def test_nothing_to_embed_asks_no_embedder() -> None:
    assert embed(SPACE, [], None) == []
    assert len(embed(SPACE, [passage("a", 1, 1, 2, 3, 4)], None)) == 1


def test_a_chunk_without_a_vector_in_a_space_without_an_embedder_is_refused() -> None:
    with pytest.raises(DocumentRefused) as refused:
        embed(SPACE, [passage("a", 1, 1, 2, 3, 4), passage("b", 2)], None)
    assert refused.value.code == "embedding"


def test_a_failing_embedder_is_an_outage() -> None:
    embedder = FakeEmbedder(SPACE)
    embedder.broken = "asleep"
    with pytest.raises(EmbedderFailed):
        embed(SPACE, [passage("a", 1)], embedder)


@pytest.mark.parametrize("wrong", [[0.0] * 4, [float("nan")] * 4, [1.0] * 3, []])
def test_an_embedder_whose_vectors_are_none_of_the_space_does_not_get_them_stored(
    wrong: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = FakeEmbedder(SPACE)
    monkeypatch.setattr(embedder, "embed_passages", lambda texts: [vector(*wrong) for _ in texts])
    with pytest.raises(DocumentRefused, match="the vector of chunk 1") as refused:
        embed(SPACE, [passage("a", 1)], embedder)
    assert refused.value.code == "embedding"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_o13_too_few_or_too_many_vectors_are_not_given_to_the_wrong_texts(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = FakeEmbedder(SPACE)
    monkeypatch.setattr(embedder, "embed_passages", lambda _: [vector(1, 0, 0, 0)] * count)
    with pytest.raises(DocumentRefused, match=f"{count} vectors for 2 chunks"):
        embed(SPACE, [passage("a", 1), passage("b", 2)], embedder)
