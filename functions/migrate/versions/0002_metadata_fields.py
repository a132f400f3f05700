"""Metadata fields: what is counted of each, and those that are being renamed or deleted."""

from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from shared.metadata.fields import count_changes

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COUNTS = ("documents", "fit_string", "fit_number", "fit_time", "fit_boolean", "fit_list")
_PAGE = 1_000


def upgrade() -> None:
    """Adds the counts, and counts what is there."""
    op.execute("ALTER TABLE datasets ADD field_moves JSONB DEFAULT '{}' NOT NULL")
    op.execute("ALTER TABLE metadata_fields ALTER type DROP NOT NULL")
    for each in _COUNTS:
        op.execute(f"ALTER TABLE metadata_fields ADD {each} INTEGER DEFAULT 0 NOT NULL")
    op.execute("LOCK TABLE documents IN SHARE MODE")  # nobody writes while they are counted
    for (dataset_id,) in op.get_bind().execute(text("SELECT id FROM datasets")).all():
        counts = count_changes(({}, metadata) for metadata in _list_metadata(dataset_id))
        if counts:
            op.get_bind().execute(_INSERT, {"dataset": dataset_id, "counts": counts})


def downgrade() -> None:
    """Takes the counts away."""
    op.execute("DELETE FROM metadata_fields WHERE type IS NULL")
    for each in _COUNTS:
        op.execute(f"ALTER TABLE metadata_fields DROP {each}")
    op.execute("ALTER TABLE metadata_fields ALTER type SET NOT NULL")
    op.execute("ALTER TABLE datasets DROP field_moves")


def _list_metadata(dataset_id: Any) -> Iterator[dict[str, Any]]:
    place: dict[str, Any] = {"created_at": "-infinity", "id": "0" * 32}
    while True:
        rows = op.get_bind().execute(_NEXT, {"dataset": dataset_id, "most": _PAGE, **place}).all()
        yield from (row.doc_metadata for row in rows)
        if not rows:
            return
        place = {"created_at": rows[-1].created_at, "id": str(rows[-1].id)}


_NEXT = text(
    """
    SELECT created_at, id, doc_metadata FROM documents
    WHERE dataset_id = :dataset AND deleted_at IS NULL AND jsonb_typeof(doc_metadata) = 'object'
        AND (created_at, id) > (CAST(:created_at AS TIMESTAMPTZ), CAST(:id AS UUID))
    ORDER BY created_at, id LIMIT :most
    """
)
_INSERT = text(
    f"""
    INSERT INTO metadata_fields (dataset_id, name, type, declared, {", ".join(_COUNTS)})
    SELECT :dataset, name, type, false, {", ".join(_COUNTS)}
    FROM jsonb_to_recordset(:counts)
        AS counted(name TEXT, type TEXT, {", ".join(f"{each} INTEGER" for each in _COUNTS)})
    """  # noqa: S608 - names of columns, which stand above
).bindparams(bindparam("counts", type_=JSONB))
