"""How ingest hears of changes."""
