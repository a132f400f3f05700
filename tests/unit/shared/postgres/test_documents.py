"""What a write does to the document it meets: a table, no database."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.errors import StaleVersion
from shared.model import Document, IndexingStatus
from shared.postgres.documents import DocumentWrite, Effect, judge_write

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HELD = Document(
    id="i",
    seq=1,
    tenant_id="t",
    dataset_id="d",
    external_id="e",
    source="s",
    name="n",
    uploader="u",
    version=7,
    sequencer=None,
    live_version=7,
    index_version=1,
    content_key="k",
    media_type="text/plain",
    content_hash="h",
    title=None,
    encoding="utf-8",
    guessed=False,
    left_out=[],
    chunking=None,
    indexing_status=IndexingStatus.COMPLETED,
    error_code=None,
    error=None,
    enabled=True,
    archived=False,
    metadata={"a": 1},
    created_at=NOW,
    updated_at=NOW,
    completed_at=NOW,
    deleted_at=None,
    status_since=NOW,
)
SAME = DocumentWrite(
    id="i",
    tenant_id="t",
    dataset_id="d",
    external_id="e",
    source="s",
    name="n",
    uploader="u",
    metadata={"a": 1},
    content_key="k",
    content_hash="h",
    media_type="text/plain",
)
OTHER_CONTENT = {"content_hash": "other", "content_key": "other"}
OTHER_METADATA = {"metadata": {"a": 2}}
FAILED = {"indexing_status": IndexingStatus.ERROR}
GONE = {"deleted_at": NOW, "live_version": None}
S3 = {"sequencer": "0A"}


@pytest.mark.parametrize(
    ("held", "sent", "effect"),
    [
        ({}, {}, Effect.NOTHING),
        ({}, {"version": 7}, Effect.NOTHING),
        ({}, {"version": 8}, Effect.METADATA),
        ({}, OTHER_METADATA, Effect.METADATA),
        ({}, {"name": "other"}, Effect.METADATA),
        ({}, {"source": "other"}, Effect.METADATA),
        ({}, OTHER_CONTENT, Effect.CONTENT),
        ({}, OTHER_CONTENT | {"version": 8}, Effect.CONTENT),
        # What was not indexed yet still has to be, whatever came beside it.
        ({"live_version": 6}, OTHER_METADATA, Effect.CONTENT),
        ({"live_version": None}, OTHER_METADATA, Effect.CONTENT),
        # A document in error is tried again.
        (FAILED, {}, Effect.CONTENT),
        (FAILED, {"version": 8}, Effect.CONTENT),
        # A tombstone takes anything newer, whole.
        (GONE, {}, Effect.CONTENT),
        (GONE, {"version": 8}, Effect.CONTENT),
        # S3's order, right-padded, letters of either case.
        (S3, {"sequencer": "0B"}, Effect.NOTHING),
        (S3, OTHER_CONTENT | {"sequencer": "0B"}, Effect.CONTENT),
        (S3, OTHER_CONTENT | {"sequencer": "0a1"}, Effect.CONTENT),
        (S3, OTHER_CONTENT | {"sequencer": "0A"}, Effect.NOTHING),
        (S3, OTHER_CONTENT | {"sequencer": "0a00"}, Effect.NOTHING),
        (S3, OTHER_CONTENT | {"sequencer": "09FF"}, Effect.NOTHING),
        (S3 | GONE, {"sequencer": "09"}, Effect.NOTHING),
        (S3, OTHER_CONTENT, Effect.CONTENT),
        (
            {"sequencer": "0055AED6DCD90281E5"},
            OTHER_CONTENT | {"sequencer": "0055AED6DCD90281E51"},
            Effect.CONTENT,
        ),
    ],
)
def test_effect(held: dict[str, Any], sent: dict[str, Any], effect: Effect) -> None:
    assert judge_write(replace(HELD, **held), replace(SAME, **sent)) is effect


@pytest.mark.parametrize(
    ("held", "sent"),
    [
        ({}, {"version": 6}),
        ({}, OTHER_CONTENT | {"version": 7}),
        ({}, OTHER_METADATA | {"version": 7}),
        (GONE, {"version": 7}),
        (GONE, {"version": 6}),
    ],
)
def test_o04_an_older_version_or_other_content_of_the_same_is_refused_naming_both(
    held: dict[str, Any], sent: dict[str, Any]
) -> None:
    with pytest.raises(StaleVersion) as refused:
        judge_write(replace(HELD, **held), replace(SAME, **sent))
    assert f"version {sent['version']} " in str(refused.value)
    assert "version 7" in str(refused.value)
