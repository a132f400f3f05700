"""Text into tokens: one analyzer for ingest and query. Pure, free of I/O."""
