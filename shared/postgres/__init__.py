"""The PostgreSQL adapter: the source of truth. SQLAlchemy Core over pg8000, no extensions."""
