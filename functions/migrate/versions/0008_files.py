"""Files of many formats: what was read of them; parents, which are returned for their children."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds what a document's content says of itself, and the parents of chunks."""
    op.execute("ALTER TABLE documents ADD title TEXT")
    op.execute("ALTER TABLE documents ADD encoding TEXT")
    op.execute("ALTER TABLE documents ADD guessed BOOLEAN DEFAULT false NOT NULL")
    op.execute("ALTER TABLE documents ADD left_out JSONB DEFAULT '[]' NOT NULL")
    op.execute(
        """
        CREATE TABLE chunk_parents (
            id UUID NOT NULL,
            document_id UUID NOT NULL,
            text TEXT NOT NULL,
            PRIMARY KEY (id),
            FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX chunk_parents_document ON chunk_parents (document_id)")
    op.execute("ALTER TABLE chunk_memberships ADD parent_id UUID REFERENCES chunk_parents (id)")
    op.execute(
        "CREATE INDEX chunk_memberships_parent ON chunk_memberships (parent_id)"
        " WHERE parent_id IS NOT NULL"
    )


def downgrade() -> None:
    """Takes them away; children are then returned themselves."""
    op.execute("ALTER TABLE chunk_memberships DROP parent_id")
    op.execute("DROP TABLE chunk_parents")
    for each in ("left_out", "guessed", "encoding", "title"):
        op.execute(f"ALTER TABLE documents DROP {each}")
