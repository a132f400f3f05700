"""An index for each kind of filter values, in place of one for all."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_KINDS = ("values", "numbers", "booleans", "filled")


def upgrade() -> None:
    """Makes the indexes, and counts what is in them; whoever writes documents waits for it."""
    for kind in _KINDS:
        op.execute(
            f"CREATE INDEX documents_{kind} ON documents "
            f"USING gin ((filter_values -> '{kind}') jsonb_path_ops) WITH (fastupdate = off)"
        )
    op.execute("ANALYZE documents")
    op.execute("DROP INDEX documents_filter_values")


def downgrade() -> None:
    """Makes the one index again."""
    op.execute(
        "CREATE INDEX documents_filter_values ON documents USING gin (filter_values jsonb_path_ops)"
        " WITH (fastupdate = off)"
    )
    for kind in _KINDS:
        op.execute(f"DROP INDEX documents_{kind}")
