"""The first schema: tenants, datasets, documents, chunks, outbox."""

from alembic import op
from sqlalchemy import text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

DEFAULT_TENANT = "00000000-0000-0000-0000-000000000001"


def upgrade() -> None:
    """Makes the tables, and the tenant of the bootstrap key."""
    op.execute("CREATE SEQUENCE index_versions AS BIGINT")
    op.execute("CREATE SEQUENCE document_seqs AS INTEGER")
    op.execute(
        """
        CREATE TABLE tenants (
            id UUID NOT NULL,
            name TEXT NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            PRIMARY KEY (id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE api_keys (
            id UUID NOT NULL,
            tenant_id UUID NOT NULL,
            name TEXT NOT NULL,
            key_hash BYTEA NOT NULL,
            scopes JSONB NOT NULL,
            dataset_ids JSONB,
            expires_at TIMESTAMP WITH TIME ZONE,
            revoked_at TIMESTAMP WITH TIME ZONE,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            PRIMARY KEY (id),
            FOREIGN KEY(tenant_id) REFERENCES tenants (id),
            UNIQUE (key_hash)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE datasets (
            id UUID NOT NULL,
            tenant_id UUID NOT NULL,
            name TEXT NOT NULL,
            description TEXT DEFAULT '' NOT NULL,
            provider TEXT DEFAULT 'internal' NOT NULL,
            indexing_technique TEXT NOT NULL,
            embedding_provider TEXT NOT NULL,
            embedding_model TEXT NOT NULL,
            embedding_dimension INTEGER NOT NULL,
            retrieval JSONB DEFAULT '{}' NOT NULL,
            chunking JSONB DEFAULT '{}' NOT NULL,
            external JSONB,
            searchable_count INTEGER DEFAULT '0' NOT NULL,
            hidden_count INTEGER DEFAULT '0' NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            PRIMARY KEY (id),
            CONSTRAINT datasets_name_once UNIQUE (tenant_id, name),
            FOREIGN KEY(tenant_id) REFERENCES tenants (id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE documents (
            id UUID NOT NULL,
            seq INTEGER DEFAULT nextval('document_seqs') NOT NULL,
            tenant_id UUID NOT NULL,
            dataset_id UUID NOT NULL,
            external_id TEXT,
            source TEXT,
            name TEXT NOT NULL,
            uploader TEXT NOT NULL,
            version BIGINT NOT NULL,
            sequencer TEXT,
            live_version BIGINT,
            index_version BIGINT,
            content_key TEXT,
            media_type TEXT,
            content_hash TEXT,
            chunking JSONB,
            indexing_status TEXT NOT NULL,
            error_code TEXT,
            error TEXT,
            enabled BOOLEAN DEFAULT true NOT NULL,
            archived BOOLEAN DEFAULT false NOT NULL,
            doc_metadata JSONB,
            filter_values JSONB NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
            completed_at TIMESTAMP WITH TIME ZONE,
            deleted_at TIMESTAMP WITH TIME ZONE,
            PRIMARY KEY (id),
            CONSTRAINT documents_seq_once UNIQUE (seq),
            CONSTRAINT documents_external_id_once UNIQUE (dataset_id, external_id),
            FOREIGN KEY(tenant_id) REFERENCES tenants (id),
            FOREIGN KEY(dataset_id) REFERENCES datasets (id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        "CREATE INDEX documents_filter_values ON documents USING gin (filter_values jsonb_path_ops)"
        " WITH (fastupdate = off)"
    )
    op.execute(
        "CREATE INDEX documents_hidden ON documents (dataset_id, seq) "
        "WHERE live_version IS NOT NULL AND NOT (enabled AND NOT archived AND deleted_at IS NULL)"
    )
    op.execute("CREATE INDEX documents_newest ON documents (dataset_id, created_at, id)")
    op.execute(
        "CREATE INDEX documents_searchable ON documents (dataset_id, seq) "
        "WHERE live_version IS NOT NULL AND enabled AND NOT archived AND deleted_at IS NULL"
    )
    op.execute(
        """
        CREATE TABLE metadata_fields (
            dataset_id UUID NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            declared BOOLEAN NOT NULL,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            PRIMARY KEY (dataset_id, name),
            FOREIGN KEY(dataset_id) REFERENCES datasets (id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        """
        CREATE TABLE chunks (
            id UUID NOT NULL,
            document_id UUID NOT NULL,
            text TEXT NOT NULL,
            heading TEXT NOT NULL,
            keywords BYTEA NOT NULL,
            vector BYTEA,
            index_version BIGINT,
            PRIMARY KEY (id),
            FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX chunks_document ON chunks (document_id)")
    # Queries read text and keywords, and never vectors: these lie elsewhere, so that a page holds
    # many chunks. They do not compress.
    op.execute(
        """
        ALTER TABLE chunks
            ALTER COLUMN vector SET STORAGE EXTERNAL,
            ALTER COLUMN text SET STORAGE MAIN,
            ALTER COLUMN keywords SET STORAGE MAIN,
            SET (toast_tuple_target = 256)
        """
    )
    op.execute(
        """
        CREATE TABLE outbox (
            document_id UUID NOT NULL,
            tenant_id UUID NOT NULL,
            dataset_id UUID NOT NULL,
            version BIGINT NOT NULL,
            action TEXT NOT NULL,
            attempts INTEGER DEFAULT '0' NOT NULL,
            available_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            last_error TEXT,
            token UUID,
            created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
            PRIMARY KEY (document_id),
            FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX outbox_available ON outbox (available_at)")
    op.execute(
        """
        CREATE TABLE chunk_memberships (
            chunk_id UUID NOT NULL,
            from_version BIGINT NOT NULL,
            until_version BIGINT,
            document_id UUID NOT NULL,
            position INTEGER NOT NULL,
            page INTEGER,
            char_start INTEGER,
            char_end INTEGER,
            superseded_at TIMESTAMP WITH TIME ZONE,
            PRIMARY KEY (chunk_id, from_version),
            FOREIGN KEY(chunk_id) REFERENCES chunks (id) ON DELETE CASCADE,
            FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX chunk_memberships_document ON chunk_memberships (document_id)")
    op.get_bind().execute(
        text("INSERT INTO tenants (id, name) VALUES (:id, 'default')"), {"id": DEFAULT_TENANT}
    )


def downgrade() -> None:
    """Takes everything away."""
    for table in (
        "chunk_memberships",
        "outbox",
        "chunks",
        "metadata_fields",
        "documents",
        "datasets",
        "api_keys",
        "tenants",
    ):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP SEQUENCE document_seqs")
    op.execute("DROP SEQUENCE index_versions")
