"""Reconcile and reindex: unfinished documents, unfinished runs, indices that are being built."""

from alembic import op

revision = "0005"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds an index over the few documents that have work to do, and two small tables."""
    op.execute(
        "CREATE INDEX documents_unfinished ON documents (id) WHERE "
        "deleted_at IS NOT NULL AND (live_version IS NOT NULL OR content_key IS NOT NULL) "
        "OR deleted_at IS NULL AND indexing_status NOT IN ('completed', 'error')"
    )
    op.execute(
        """
        CREATE TABLE reconcile_place (
            is_only BOOLEAN NOT NULL,
            place JSONB NOT NULL,
            PRIMARY KEY (is_only),
            CHECK (is_only)
        )
        """
    )

    op.execute(
        """
        CREATE TABLE index_builds (
            embedding_provider TEXT NOT NULL,
            embedding_model TEXT NOT NULL,
            embedding_dimension INTEGER NOT NULL,
            token UUID NOT NULL,
            is_under_way BOOLEAN NOT NULL,
            PRIMARY KEY (embedding_provider, embedding_model, embedding_dimension)
        )
        """
    )


def downgrade() -> None:
    """Takes them away."""
    op.execute("DROP TABLE index_builds")
    op.execute("DROP TABLE reconcile_place")
    op.execute("DROP INDEX documents_unfinished")
