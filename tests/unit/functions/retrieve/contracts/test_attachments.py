import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.retrieve.contracts.attachments import (
    MOST_IMAGE_BYTES,
    AttachmentBody,
    check_image,
    read_image,
)
from shared.errors import InvalidRequest
from shared.model import NO_VECTORS, Dataset, EmbeddingSpace, ExternalBase, Image, SearchMethod

SIGNATURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x24\x00\x00\x00WEBPVP8 ",
}
READS = EmbeddingSpace("bedrock", "amazon.titan-embed-image-v1", 1024)
BLIND = EmbeddingSpace("bedrock", "amazon.titan-embed-text-v2:0", 1024)
HYBRID, WORDS = SearchMethod.HYBRID, SearchMethod.FULL_TEXT


def attach(media_type: Any, data: bytes | str) -> list[AttachmentBody]:
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return [AttachmentBody(media_type=media_type, data=encoded)]


def refusal(attachments: list[AttachmentBody]) -> str:
    with pytest.raises(InvalidRequest) as refused:
        read_image(attachments)
    [problem] = refused.value.problems
    assert problem.pointer == "/attachments/0/data"
    return problem.detail


@pytest.mark.parametrize("media_type", SIGNATURES)
@given(rest=st.binary(max_size=50))
def test_an_image_is_read_byte_for_byte(media_type: str, rest: bytes) -> None:
    data = SIGNATURES[media_type] + rest
    assert read_image(attach(media_type, data)) == Image(media_type, data)


def test_no_attachment_is_no_image() -> None:
    assert read_image(None) is None
    assert read_image([]) is None


@pytest.mark.parametrize("media_type", SIGNATURES)
@pytest.mark.parametrize("other", SIGNATURES)
def test_an_image_of_another_type_is_refused_by_both_names(media_type: str, other: str) -> None:
    if media_type == other:
        assert read_image(attach(media_type, SIGNATURES[other])) is not None
    else:
        assert refusal(attach(media_type, SIGNATURES[other])) == f"is {other}, and not {media_type}"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PN",
        b"<svg></svg>",
        b"GIF88a",
        b"RIFF\x24\x00\x00\x00WAVE",
        b"%PDF-1.7",
        b" \x89PNG\r\n\x1a\n",
    ],
)
def test_what_is_no_image_is_refused(data: bytes) -> None:
    assert refusal(attach("image/png", data)) == "is no png, jpeg, gif or webp, and not image/png"


GOOD = base64.b64encode(SIGNATURES["image/png"] + b"x" * 20).decode()


@pytest.mark.parametrize(
    "data",
    [
        "***",
        GOOD[:-1],
        f"data:image/png;base64,{GOOD}",
        GOOD[:8] + "\n" + GOOD[8:],
        GOOD + "==",
        GOOD.replace("+", "-").replace("/", "_") + "_",
        "é" * 8,
    ],
)
def test_what_is_no_base64_is_refused(data: str) -> None:
    assert "is not base64" in refusal(attach("image/png", data))


def test_five_mebibytes_are_the_most() -> None:
    largest = SIGNATURES["image/png"].ljust(MOST_IMAGE_BYTES, b"x")
    assert read_image(attach("image/png", largest)) is not None
    for more in (b"x", b"x" * 5, b"x" * 1_000_000):
        assert "larger than 5,242,880 bytes" in refusal(attach("image/png", largest + more))


def dataset(space: EmbeddingSpace, external: ExternalBase | None = None) -> Dataset:
    now = datetime.now(UTC)
    return Dataset(
        id="d",
        tenant_id="t",
        name="n",
        space=space,
        external=external,
        created_at=now,
        updated_at=now,
    )


OUTSIDE = dataset(NO_VECTORS, ExternalBase("https://kb.example", "k", "secret"))


@pytest.mark.parametrize(
    ("method", "datasets", "is_reranked"),
    [
        (HYBRID, [dataset(READS)], False),
        (SearchMethod.SEMANTIC, [dataset(READS), OUTSIDE], True),
        (WORDS, [dataset(BLIND)], True),
        (HYBRID, [OUTSIDE], True),
    ],
)
def test_an_image_that_a_model_looks_at_is_taken(
    method: SearchMethod, datasets: list[Dataset], is_reranked: bool
) -> None:
    check_image(method, datasets, is_reranked=is_reranked)


@pytest.mark.parametrize(
    ("method", "datasets", "is_reranked", "who"),
    [
        (HYBRID, [dataset(BLIND)], False, BLIND.model),
        (HYBRID, [dataset(BLIND)], True, BLIND.model),
        (SearchMethod.SEMANTIC, [dataset(READS), dataset(BLIND)], False, BLIND.model),
        (WORDS, [dataset(READS)], False, "full_text_search"),
        (SearchMethod.KEYWORD, [dataset(READS)], False, "keyword_search"),
        (HYBRID, [OUTSIDE], False, "an external knowledge base"),
    ],
)
def test_an_image_that_nothing_would_look_at_is_refused(
    method: SearchMethod, datasets: list[Dataset], is_reranked: bool, who: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"{who}.* reads no images") as refused:
        check_image(method, datasets, is_reranked=is_reranked)
    assert [each.pointer for each in refused.value.problems] == ["/attachments"]
