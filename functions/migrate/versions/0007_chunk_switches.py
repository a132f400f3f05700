"""Chunks that are switched off, and since when a document has its status."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds a table of the chunks that are off, and what listings and counts by status need."""
    op.execute(
        """
        CREATE TABLE disabled_chunks (
            chunk_id UUID NOT NULL,
            dataset_id UUID NOT NULL,
            PRIMARY KEY (chunk_id),
            FOREIGN KEY(chunk_id) REFERENCES chunks (id) ON DELETE CASCADE,
            FOREIGN KEY(dataset_id) REFERENCES datasets (id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX disabled_chunks_dataset ON disabled_chunks (dataset_id)")
    op.execute("ALTER TABLE datasets ADD has_disabled_chunks BOOLEAN DEFAULT false NOT NULL")
    op.execute(
        "ALTER TABLE documents ADD status_since TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL"
    )
    op.execute(
        "CREATE INDEX documents_status ON documents (dataset_id, indexing_status, created_at, id)"
        " WHERE deleted_at IS NULL"
    )


def downgrade() -> None:
    """Takes them away; every chunk is on again."""
    op.execute("DROP INDEX documents_status")
    op.execute("ALTER TABLE documents DROP status_since")
    op.execute("ALTER TABLE datasets DROP has_disabled_chunks")
    op.execute("DROP TABLE disabled_chunks")
