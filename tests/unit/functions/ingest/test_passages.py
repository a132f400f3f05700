import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.ingest.formats.options import Options
from functions.ingest.passages import name_chunks, name_parents, read_content
from functions.ingest.reader import FileReader
from shared.errors import DocumentRefused
from shared.model import (
    CHUNKS_MEDIA_TYPE,
    Chunking,
    Dataset,
    EmbeddingSpace,
    Passage,
    Strategy,
)
from tests.fakes.build import vector
from tests.unit.shared.postgres.test_documents import HELD

READER = FileReader(Options())  # of text and chunks it reads nothing
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATASET = Dataset(
    id=str(uuid.UUID(int=1)),
    tenant_id="t",
    name="n",
    space=EmbeddingSpace("given", "m", 2),
    created_at=NOW,
    updated_at=NOW,
)
DOCUMENT = replace(HELD, id=str(uuid.UUID(int=2)), dataset_id=DATASET.id)


def passages(*texts: str) -> list[Passage]:
    return [Passage(text=text, position=n) for n, text in enumerate(texts, start=1)]


def cut(chunks: list[dict[str, Any]]) -> list[Passage]:
    document = replace(DOCUMENT, media_type=CHUNKS_MEDIA_TYPE)
    data = json.dumps({"chunks": chunks}).encode()
    return list(read_content(document, DATASET, lambda: data, READER).passages)


def test_chunks_of_the_sender_come_as_they_are_without_the_blank_ones() -> None:
    first, second = cut(
        [
            {"text": " one ", "vector": [1, 0], "page": 3},
            {"text": " \n"},
            {"text": "two"},
        ]
    )
    assert (first.text, first.position, first.page) == (" one ", 1, 3)
    assert np.array_equal(first.vector, [1, 0])  # type: ignore[arg-type]
    assert (second.text, second.position, second.page, second.vector) == ("two", 2, None, None)


@pytest.mark.parametrize("chunks", [[], [{"text": ""}], [{"text": " "}]])
def test_nothing_but_blanks_is_no_text(chunks: list[dict[str, Any]]) -> None:
    with pytest.raises(DocumentRefused) as refused:
        cut(chunks)
    assert refused.value.code == "no_text"


@pytest.mark.parametrize(("strategy", "chunks"), [("headings", 2), ("whole", 1)])
def test_text_is_cut_by_the_datasets_chunking(strategy: str, chunks: int) -> None:
    document = replace(DOCUMENT, media_type="text/markdown", name="a.md")
    dataset = replace(DATASET, chunking=Chunking(Strategy(strategy)))
    text = "---\ntitle: The fees\n---\n# Fees\n\nThe refund policy.\n\n# More\n\nWörds.\n"
    found = read_content(document, dataset, lambda: text.encode("cp1252"), READER)
    assert [passage.position for passage in found.passages] == list(range(1, chunks + 1))
    assert any("refund policy" in passage.searchable_text for passage in found.passages)
    assert (found.title, found.guessed, found.left_out) == ("The fees", True, [])
    assert found.encoding is not None


def test_children_of_one_parent_name_it_and_equal_parents_differ() -> None:
    text = "Same words here again, and some more. " * 6
    document = replace(DOCUMENT, media_type="text/markdown")
    dataset = replace(DATASET, chunking=Chunking(Strategy.PARENT_CHILD, size=12, overlap=0))
    data = f"# A\n\n{text}\n\n# A\n\n{text}".encode()
    content = read_content(document, dataset, lambda: data, READER)
    names = name_parents(DOCUMENT, content.passages)
    spans = [passage.parent.span for passage in content.passages if passage.parent]
    assert len(spans) == len(names) > len(set(names)) == len(set(spans)) == 4
    again = name_parents(DOCUMENT, content.passages)
    assert names == again
    assert name_parents(DOCUMENT, passages("one")) == [None]


def test_m04_equal_texts_have_ids_of_their_own() -> None:
    ids = name_chunks(DOCUMENT, passages(*["again"] * 50))
    assert len(set(ids)) == 50


def test_an_id_does_not_depend_on_where_the_text_stands() -> None:
    before = name_chunks(DOCUMENT, passages("one", "two", "one"))
    after = name_chunks(DOCUMENT, passages("zero", "one", "new", "two", "one"))
    assert set(before) <= set(after)


def test_an_id_depends_on_dataset_document_heading_and_brought_vector() -> None:
    [plain] = name_chunks(DOCUMENT, passages("one"))
    others = [
        name_chunks(replace(DOCUMENT, id=str(uuid.UUID(int=3))), passages("one")),
        name_chunks(replace(DOCUMENT, dataset_id=str(uuid.UUID(int=4))), passages("one")),
        name_chunks(DOCUMENT, [Passage(text="one", position=1, heading="h")]),
        name_chunks(DOCUMENT, [Passage(text="one", position=1, vector=vector(1, 0))]),
    ]
    assert len({plain, *(each for [each] in others)}) == 5


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=8), st.randoms())
def test_the_ids_of_a_document_are_a_matter_of_its_texts_alone(texts: list[str], dice: Any) -> None:
    shuffled = list(texts)
    dice.shuffle(shuffled)
    ids = name_chunks(DOCUMENT, passages(*texts))
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == sorted(name_chunks(DOCUMENT, passages(*shuffled)))
