"""Datasets that are being deleted: nobody sees them, and their documents go one by one."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the mark of deletion; a name is free again from then on."""
    op.execute("ALTER TABLE datasets ADD deleted_at TIMESTAMP WITH TIME ZONE")
    op.execute("ALTER TABLE datasets DROP CONSTRAINT datasets_name_once")
    op.execute(
        "CREATE UNIQUE INDEX datasets_name_once ON datasets (tenant_id, name)"
        " WHERE deleted_at IS NULL"
    )


def downgrade() -> None:
    """Finishes what was being deleted: without the mark it would come back."""
    op.execute("DELETE FROM datasets WHERE deleted_at IS NOT NULL")
    op.execute("DROP INDEX datasets_name_once")
    op.execute("ALTER TABLE datasets ADD CONSTRAINT datasets_name_once UNIQUE (tenant_id, name)")
    op.execute("ALTER TABLE datasets DROP deleted_at")
