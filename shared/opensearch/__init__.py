"""The search index: OpenSearch 2.19, one index an embedding space."""
